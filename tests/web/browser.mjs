// Debian's Chromium, without a window. What a page asks of the network, and what it complains of, is kept.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { chromium } from 'playwright-core'

const candidates = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export async function launch() {
  const executablePath = candidates.find((path) => path && existsSync(path))
  if (!executablePath) throw new Error('no Chromium found: run ci/install-packages.sh check, or set CHROMIUM')
  // Containers have no user namespaces for its sandbox, and often a small /dev/shm.
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] })
}

// A page with `complaints`: requests but for the file itself, errors, and what was written to the console.
export async function open(browser, file, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options })
  const page = await context.newPage()
  const url = pathToFileURL(file).href
  page.complaints = []
  page.on('request', (request) => {
    const asked = request.url()
    if (asked.split('#')[0] !== url && !asked.startsWith('data:')) page.complaints.push(`request of ${asked}`)
  })
  page.on('pageerror', (error) => page.complaints.push(String(error)))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) page.complaints.push(message.text())
  })
  await page.goto(url)
  if (options.javaScriptEnabled !== false) await page.waitForSelector('html[data-ready=yes]')
  return page
}

// Opens a page, does something with it, and wants no complaints.
export async function visit(browser, file, options, act) {
  const page = await open(browser, file, options)
  await act(page)
  assert.deepEqual(page.complaints, [])
  await page.context().close()
}
