// The web page in a browser: PAGES/ has what web_samples made. Nothing here depends on how fast the machine is.
import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { launch, visit } from './browser.mjs'

const pages = process.env.DIOGENES_PAGES
const file = (name) => join(pages, `${name}.html`)
let browser
before(async () => (browser = await launch()))
after(async () => browser?.close())

const opened = (name, options, act) => visit(browser, file(name), options, act)
const range = (page) =>
  page.$eval('#timeline-view canvas', (canvas) => [Number(canvas.dataset.begin), Number(canvas.dataset.end)])
const length = async (page) => (await range(page)).reduce((begin, end) => end - begin)
const column = (page, name) =>
  page.$$eval('#finding-list > details', (list, key) => list.map((one) => one.dataset[key]), name)
const descending = (values) => [...values].sort((a, b) => b - a)
// How many pixels of the timeline have about this colour.
const painted = (page, name) =>
  page.$eval(
    '#timeline-view canvas',
    (canvas, property) => {
      const value = getComputedStyle(document.documentElement).getPropertyValue(property).trim()
      const wanted = [1, 3, 5].map((at) => parseInt(value.slice(at, at + 2), 16))
      const copy = document.createElement('canvas')
      copy.width = canvas.width
      copy.height = canvas.height
      const context = copy.getContext('2d', { willReadFrequently: true })
      context.drawImage(canvas, 0, 0)
      const { data } = context.getImageData(0, 0, copy.width, copy.height)
      let count = 0
      for (let i = 0; i < data.length; i += 4)
        if (wanted.every((channel, k) => Math.abs(data[i + k] - channel) < 6) && data[i + 3] > 200) ++count
      return count
    },
    name,
  )
const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))

test('every sample opens without a request, an error or a warning, in light and dark', async () => {
  const samples = readdirSync(pages).filter((name) => name.endsWith('.html'))
  assert.ok(samples.length >= 7)
  for (const sample of samples)
    for (const colorScheme of ['light', 'dark'])
      await opened(sample.replace('.html', ''), { colorScheme }, async (page) => {
        assert.ok((await page.textContent('.headline')).length > 10)
        const wider = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
        assert.equal(wider, false, `${sample} is wider than the window`)
      })
})

test('findings can be read without scripts', async () => {
  await opened('timed', { javaScriptEnabled: false }, async (page) => {
    const text = await page.locator('body').innerText()
    assert.match(text, /270 ms of 1\.25 s \(21\.6%\) can be saved/)
    assert.match(text, /cudaFree: needless wait/)
    assert.match(text, /The timeline needs scripts/)
    assert.equal(await page.locator('#filter').isVisible(), false)
    assert.match(await page.locator('#f1').innerText(), /allocate once and reuse the memory/)
    assert.match(await page.locator('#f1 mark').first().innerText(), /cudaFree/)
  })
})

test('findings are sorted by mouse and by keyboard', async () => {
  await opened('crowded', {}, async (page) => {
    const saves = (await column(page, 'saves')).map(Number)
    assert.deepEqual(saves, descending(saves))
    await page.click('button[data-column=calls]')
    const calls = (await column(page, 'calls')).map(Number)
    assert.deepEqual(calls, descending(calls))
    await page.click('button[data-column=calls]')
    assert.deepEqual((await column(page, 'calls')).map(Number), descending(calls).reverse())
    await page.focus('button[data-column=where]')
    await page.keyboard.press('Enter')
    const where = await column(page, 'where')
    assert.deepEqual(where, [...where].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })))
    assert.match(await page.textContent('#finding-status'), /Sorted by where/)
    await page.click('button[data-column=saves]')
    assert.deepEqual((await column(page, 'saves')).map(Number), saves)
  })
})

test('findings are filtered by words, opened all at once, and one by one with keys', async () => {
  await opened('timed', {}, async (page) => {
    await page.fill('#filter', 'thrust copy')
    assert.equal(await page.locator('#finding-list > details:visible').count(), 1)
    await page.fill('#filter', '')
    assert.equal(await page.locator('#finding-list > details:visible').count(), 3)
    await page.click('#open-all')
    assert.equal(await page.locator('#finding-list > details[open]').count(), 3)
    await page.click('#open-all')
    assert.equal(await page.locator('#finding-list > details[open]').count(), 0)
    await page.focus('#f2 > summary')
    await page.keyboard.press('Space')
    assert.equal(await page.locator('#f2[open]').count(), 1)
  })
})

test('the timeline zooms and moves by buttons, keys, wheel and mouse', async () => {
  await opened('timed', {}, async (page) => {
    const all = await range(page)
    assert.ok(Math.abs(all[0]) < 1e-6 && Math.abs(all[1] - 1.25) < 1e-6, String(all))
    await page.click('#zoom-in')
    assert.ok(Math.abs((await length(page)) - 0.625) < 1e-6)
    await page.focus('#timeline-view canvas')
    await page.keyboard.press('+')
    assert.ok(Math.abs((await length(page)) - 0.3125) < 1e-6)
    const before = await range(page)
    await page.keyboard.press('ArrowRight')
    const moved = await range(page)
    assert.ok(moved[0] > before[0] && Math.abs(moved[1] - moved[0] - 0.3125) < 1e-6)
    for (let i = 0; i < 40; ++i) await page.keyboard.press('ArrowRight')
    assert.ok((await range(page))[1] <= 1.25 + 1e-9, 'beyond the end')
    await page.keyboard.press('0')
    assert.ok(Math.abs((await length(page)) - 1.25) < 1e-6)
    await page.locator('#timeline-view').scrollIntoViewIfNeeded()
    const box = await page.locator('#timeline-view canvas').boundingBox()
    await page.mouse.move(box.x + box.width / 2, box.y + 40)
    await page.mouse.wheel(0, -300)
    await drawn(page)
    const wheeled = await length(page)
    assert.ok(wheeled < 1.2, 'the wheel does not zoom')
    await page.evaluate(() => new Promise((done) => setTimeout(done, 300))) // d3-zoom: a wheel has stopped then
    const start = (await range(page))[0]
    await page.mouse.down()
    await page.mouse.move(box.x + box.width / 2 - 100, box.y + 40, { steps: 4 })
    await page.mouse.up()
    assert.ok((await range(page))[0] > start, 'dragging does not move')
    for (let i = 0; i < 60; ++i) await page.keyboard.press('-')
    assert.ok(Math.abs((await length(page)) - 1.25) < 1e-6)
  })
})

test('what can be saved is marked, found with n and p, and leads to its finding', async () => {
  await opened('timed', {}, async (page) => {
    await drawn(page)
    assert.ok((await painted(page, '--problem')) > 500)
    assert.ok((await painted(page, '--needed')) > 50)
    assert.ok((await painted(page, '--kernel')) > 500)
    await page.focus('#timeline-view canvas')
    const seen = []
    for (let i = 0; i < 4; ++i) {
      await page.keyboard.press('n')
      seen.push(await page.textContent('#timeline-status'))
    }
    assert.match(seen[0], /cuMemFree.*50\.0 ms.*P1 cudaFree: needless wait/)
    assert.notEqual(seen[0], seen[1])
    assert.match(seen[3], /No further/)
    await page.keyboard.press('p')
    await page.keyboard.press('Enter')
    assert.equal(await page.locator('#f1[open]').count(), 1)
    assert.equal(await page.evaluate(() => document.activeElement.parentElement.id), 'f1')
    await page.locator('#f1 button[data-show-problem="0"]').click()
    assert.match(await page.textContent('#timeline-status'), /P1/)
    assert.ok((await length(page)) < 1.25)
  })
})

test('pointing at an event says what it is, merged ones too', async () => {
  await opened('timed', {}, async (page) => {
    await page.locator('#timeline-view').scrollIntoViewIfNeeded()
    const box = await page.locator('#timeline-view canvas').boundingBox()
    const at = (seconds) => box.x + 132 + ((box.width - 132) * seconds) / 1.25
    await page.mouse.move(at(1.1), box.y + 40)
    assert.match(await page.textContent('#timeline-tip'), /500 events, the longest cuLaunchKernel.*100 ms in 200 ms/)
    await page.mouse.move(at(0.03), box.y + 40)
    assert.match(await page.textContent('#timeline-tip'), /cuMemFree.*waited 49\.0 ms/)
  })
})

test('the flame graph zooms by mouse and keyboard, and leads to findings', async () => {
  await opened('timed', { reducedMotion: 'reduce' }, async (page) => {
    const frames = page.locator('#flame-view g.frame')
    assert.ok((await frames.count()) > 5)
    await page.locator('#flame-view g.frame[tabindex="0"]').focus()
    await page.keyboard.press('ArrowDown')
    const status = await page.textContent('#flame-status')
    assert.match(status, /main/)
    await page.locator('#flame-view g.frame', { hasText: 'thrust::copy: data was there' }).first().click()
    assert.match(await page.textContent('#flame-status'), /88\.0 ms.*P3: go to the finding/)
    await page.click('#flame-status a')
    assert.equal(await page.evaluate(() => document.activeElement.parentElement.tagName), 'DETAILS')
    await page.click('#flame-reset')
    assert.equal(await page.textContent('#flame-status'), '')
  })
})

test('dark and light differ, follow the system, and can be chosen', async () => {
  const background = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
  await opened('timed', { colorScheme: 'light' }, async (page) => {
    const light = await background(page)
    const kernels = await painted(page, '--kernel')
    await page.emulateMedia({ colorScheme: 'dark' })
    const dark = await background(page)
    assert.notEqual(light, dark)
    await drawn(page)
    assert.ok(Math.abs((await painted(page, '--kernel')) - kernels) < kernels / 5, 'not drawn in the new colours')
    await page.click('#theme')
    assert.equal(await background(page), light)
    await page.click('#theme')
    assert.equal(await background(page), dark)
  })
})

test('text has a contrast of 4.5 or more', async () => {
  for (const colorScheme of ['light', 'dark'])
    await opened('timed', { colorScheme }, async (page) => {
      const ratios = await page.evaluate(() => {
        const value = (name) =>
          name.startsWith('#') ? name : getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
        const luminance = (hex) =>
          [1, 3, 5]
            .map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
            .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0)
        const ratio = (a, b) => {
          const [x, y] = [luminance(value(a)), luminance(value(b))].sort((p, q) => q - p)
          return (x + 0.05) / (y + 0.05)
        }
        const pairs = ['text', 'faint', 'accent', 'gain'].flatMap((name) => [[name, 'panel'], [name, 'page']])
        for (const name of ['problem', 'needed', 'kernel', 'copy']) pairs.push(['#ffffff', name]) // labels of bars
        pairs.push(['text', 'call'], ['text', 'wait'], ['kernel-text', 'panel'], ['needed-text', 'panel'], ['warning', 'warning-panel'], ['text', 'marked'], ['text', 'flame-odd'], ['text', 'flame-even'])
        return pairs.map(([a, b]) => [a, b, ratio(a, b)])
      })
      for (const [a, b, ratio] of ratios) assert.ok(ratio >= 4.5, `${colorScheme}: ${a} on ${b} has ${ratio}`)
    })
})

test('a phone has no column that is cut off', async () => {
  await opened('timed', { viewport: { width: 390, height: 800 } }, async (page) => {
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false)
  })
})

test('a million operations: below 10 MB, all of them told, and any part can be looked at', async () => {
  assert.ok(statSync(file('million')).size < 10e6, `${statSync(file('million')).size} bytes`)
  const began = Date.now()
  await opened('million', {}, async (page) => {
    await drawn(page)
    console.log(`opened and drawn in ${Date.now() - began} ms`) // for who reads it; no test
    assert.match(await page.textContent('#timeline p'), /are drawn together with their neighbours.*every event is drawn by itself/s)
    assert.ok((await painted(page, '--problem')) > 500)
    await page.focus('#timeline-view canvas')
    const whole = await length(page)
    for (let i = 0; i < 12; ++i) await page.keyboard.press('+')
    await drawn(page)
    assert.ok((await length(page)) < whole / 4000)
    await page.keyboard.press('0')
    await page.locator('#f2 > summary').click()
    await page.locator('#f2 button[data-show-problem]').click()
    assert.match(await page.textContent('#timeline-status'), /^cuCtxSynchronize · 40\.0 us · waited 40\.0 us/)
    await page.keyboard.press('n')
    assert.match(await page.textContent('#timeline-status'), /P\d/)
  })
})
