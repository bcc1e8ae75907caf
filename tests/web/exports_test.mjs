// Exports with the tools that they are for: SARIF against the official schema; traces and folded stacks in speedscope.
import Ajv from 'ajv-draft-04'
import addFormats from 'ajv-formats'
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { launch } from './browser.mjs'

const samples = process.env.DIOGENES_PAGES
const named = (end) => readdirSync(samples).filter((name) => name.endsWith(end)).map((name) => join(samples, name))
const require = createRequire(import.meta.url)
const folderOf = (name) => dirname(require.resolve(`${name}/package.json`))

test('SARIF is as the schema of OASIS has it', () => {
  // Microsoft's package of matchers carries it.
  const schema = JSON.parse(readFileSync(join(folderOf('@microsoft/jest-sarif'), 'lib/schemas/sarif-2.1.0-rtm.5.json')))
  // One of its patterns is no Unicode expression.
  const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false })
  addFormats(ajv)
  const valid = ajv.compile(schema)
  const files = named('.sarif')
  assert.ok(files.length >= 6)
  for (const file of files) {
    const log = JSON.parse(readFileSync(file))
    assert.ok(valid(log), `${file}: ${ajv.errorsText(valid.errors)}`)
  }
  const log = JSON.parse(readFileSync(join(samples, 'timed.sarif')))
  log.runs[0].results[0].level = 'terrible'
  assert.ok(!valid(log), 'the check finds nothing')
})

let browser
before(async () => (browser = await launch()))
after(async () => browser?.close())

// The names of the profiles that speedscope made of a file.
async function speedscope(file) {
  const page = await (await browser.newContext()).newPage()
  const errors = []
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('dialog', async (dialog) => {
    errors.push(dialog.message())
    await dialog.dismiss()
  })
  await page.goto(pathToFileURL(join(folderOf('speedscope'), 'dist/release/index.html')).href)
  await page.setInputFiles('input[type=file]', file)
  await page.waitForFunction(() => document.body.innerText.includes('Time Order'))
  const text = await page.evaluate(() => document.body.innerText)
  assert.deepEqual(errors, [])
  await page.context().close()
  return text
}

test('speedscope opens the trace of the timeline', async () => {
  assert.match(await speedscope(join(samples, 'timed.perfetto.json')), /main thread/)
})

test('speedscope opens the folded stacks', async () => {
  assert.match(await speedscope(join(samples, 'timed.collapsed.txt')), /timed\.collapsed/)
})
