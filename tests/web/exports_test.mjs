// Exports with the tools that they are for: SARIF against the official schema; traces, folded stacks, and profiles in
// speedscope; profile.proto with DataDog's reader.
import Ajv from 'ajv-draft-04'
import addFormats from 'ajv-formats'
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Profile } from 'pprof-format'
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

test('speedscope opens where time goes, in three formats, and nonsense', async () => {
  for (const name of ['contexts', 'nonsense'])
    for (const end of ['speedscope.json', 'pprof', 'collapsed-time.txt']) {
      const text = await speedscope(join(samples, `${name}.${end}`))
      if (end === 'speedscope.json') assert.match(text, /als: CPU/)
    }
  await speedscope(join(samples, 'vast.speedscope.json'))
})

// Sums of a profile's samples by type, and stacks with their values, from the outside in.
function readPprof(name) {
  const profile = Profile.decode(readFileSync(join(samples, `${name}.pprof`)))
  const text = (index) => profile.stringTable.strings[Number(index)]
  const byId = (list) => new Map(list.map((one) => [Number(one.id), one]))
  const [functions, locations, mappings] = [profile.function, profile.location, profile.mapping].map(byId)
  const types = profile.sampleType.map((one) => `${text(one.type)}/${text(one.unit)}`)
  const sums = Object.fromEntries(types.map((type) => [type, 0]))
  const stacks = profile.sample.map((sample) => {
    assert.equal(sample.value.length, types.length)
    sample.value.forEach((value, i) => (sums[types[i]] += Number(value)))
    const frames = sample.locationId.map((id) => {
      const location = locations.get(Number(id))
      const [line] = location.line
      const called = functions.get(Number(line.functionId))
      if (Number(location.mappingId)) assert.ok(mappings.get(Number(location.mappingId)).hasFunctions)
      return `${text(called.name)}:${line.line}`
    })
    return `${frames.reverse().join(' ')} = ${sample.value.join(' ')}`
  })
  return { profile, text, sums, stacks, functions }
}

test('pprof: sums are the profile, and lines are those that call', () => {
  const { profile, text, sums, stacks } = readPprof('contexts')
  assert.deepEqual(sums, {
    'cpu/nanoseconds': 208e6,
    'driver/nanoseconds': 138e6,
    'waited/nanoseconds': 170e6,
    'gpu/nanoseconds': 850e6,
    'count/count': 6000 + 6000 + 500 + 6500 + 6000 + 500 + 500 + 500,
  })
  assert.equal(text(profile.defaultSampleType), 'cpu')
  assert.equal(Number(profile.durationNanos), 1.25e9)
  const launch = 'main:31 als::iterate:204 als::update_theta<float>:125 cudaLaunchKernel:0'
  assert.ok(stacks.includes(`${launch} = 0 20000000 0 0 6000`), stacks.join('\n'))
  // Of 300 ms, 92% lie in places inside of it.
  assert.ok(stacks.includes(`${launch} axpy<float, 4>:0 = 0 0 0 24000000 6000`), stacks.join('\n'))
  assert.ok(
    stacks.includes(`${launch} axpy<float, 4>:0 loop at axpy.cu:12 to 18:16 scaled:4 axpy.cu:5:5 = 0 0 0 36000000 0`),
    stacks.join('\n'),
  )
  assert.deepEqual(profile.comment.map(text), ['diogenes 0.1.0', 'Kernels ran in the run that timed the GPU.'])
})

test('pprof: names of any length and bytes', () => {
  const vast = readPprof('vast')
  assert.ok(vast.stacks.length > 19000)
  assert.ok([...vast.functions.values()].some((one) => vast.text(one.name).length > 3900))
  const { functions, text, sums } = readPprof('nonsense')
  assert.ok([...functions.values()].some((one) => text(one.name).includes('</script>')))
  assert.equal(sums['cpu/nanoseconds'], 58e6)
})
