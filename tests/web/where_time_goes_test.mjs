// GPU work and the tree of calling contexts on the page. Figures: src/views/testing/sample_profile.cc.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { launch, visit } from './browser.mjs'

let browser
before(async () => (browser = await launch()))
after(async () => browser?.close())

const opened = (name, options, act) => visit(browser, join(process.env.DIOGENES_PAGES, `${name}.html`), options, act)
const rows = (page) =>
  page.$$eval('#tree tbody tr', (lines) => lines.map((line) => [...line.cells].map((cell) => cell.textContent.trim()).join(' | ')))
const line = (page, name) => page.locator('#tree tbody tr', { hasText: name }).first()

test('a page without a profile has no sections of it', async () => {
  await opened('timed', {}, async (page) => {
    assert.equal(await page.locator('#kernels, #contexts').count(), 0)
  })
})

test('GPU work can be read without scripts', async () => {
  await opened('contexts', { javaScriptEnabled: false }, async (page) => {
    assert.match(await page.locator('#k1 > summary').innerText(), /400 ms\s+47\.1%\s+160 ms\s+140 ms to 180 ms\s+240 ms\s+axpy<float, 4>/)
    await page.locator('#k1 > summary').click()
    assert.match(await page.locator('#k1').innerText(), /64 x 4 x 2\s+16 x 16\s+1,000\s+40\.0 ms/)
    assert.equal(await page.locator('#tree tr').count(), 0)
  })
})

test('GPU work is sorted by what a faster kernel gains', async () => {
  await opened('contexts', {}, async (page) => {
    const order = () => page.$$eval('#work-list > details', (list) => list.map((one) => one.id))
    assert.deepEqual(await order(), ['k1', 'k2', 'k3'])
    await page.click('#work-head button[data-column=gain]')
    await page.click('#work-head button[data-column=gain]')
    assert.deepEqual(await order(), ['k3', 'k2', 'k1'])
    await page.click('#work-head button[data-column=what]')
    assert.deepEqual(await order(), ['k1', 'k3', 'k2'])
    assert.match(await page.textContent('#work-status'), /Sorted by kernel or copy/)
  })
})

test('the tree shows inclusive times, and its hot path at first', async () => {
  await opened('contexts', {}, async (page) => {
    assert.deepEqual(await rows(page), [
      'als | 516 ms | 170 ms | 850 ms | 188 ms | 310 ms',
      'main src/main.cc:20 | 516 ms | 170 ms | 850 ms | 188 ms | 310 ms',
      'als::iterate src/als.cc:180 | 503 ms | 170 ms | 850 ms | 188 ms | 310 ms',
      'als::update_x<float> src/als.cc:150 | 62.0 ms |  | 350 ms |  | 140 ms',
      'als::update_theta<float> src/als.cc:110 | 186 ms | 110 ms | 300 ms | 100 ms | 120 ms',
      'cudaMemcpy src/als.cc:190 | 150 ms | 60.0 ms | 200 ms | 88.0 ms | 50.0 ms',
      'libsolver.so /usr/lib/libsolver.so | 5.00 ms |  |  |  | ',
      '3 smaller ones | 3.00 ms |  |  |  | ',
    ])
    await page.click('#tree button[data-column=waited]')
    assert.match((await rows(page))[3], /^als::update_theta<float>/)
    await page.click('#tree-columns summary')
    await page.locator('#tree-columns label', { hasText: 'driver: inside' }).click()
    assert.match((await rows(page))[0], /^als \| 516 ms \| 138 ms \| 170 ms/)
  })
})

test('bottom-up and flat show functions', async () => {
  await opened('contexts', {}, async (page) => {
    await page.click('#tree-views button[data-view=flat]')
    const flat = await rows(page)
    assert.ok(flat.includes('axpy<float, 4> |  |  | 400 ms |  | 160 ms'), flat.join('\n'))
    assert.ok(flat.includes('cudaLaunchKernel | 42.0 ms |  | 650 ms |  | 260 ms'), flat.join('\n'))
    await page.click('#tree-views button[data-view=bottom-up]')
    assert.equal((await rows(page))[0], 'reduce_rows |  |  | 250 ms |  | 100 ms')
    await line(page, 'axpy<float, 4>').focus()
    for (let i = 0; i < 5; ++i) await page.keyboard.press('ArrowRight')
    // Of axpy's 400 ms, 42% lie in functions inside of it; its loop and lines are its own.
    assert.deepEqual((await rows(page)).slice(1, 5), [
      'axpy<float, 4> |  |  | 232 ms |  | 160 ms',
      'cudaLaunchKernel |  |  | 232 ms |  | 160 ms',
      'als::update_theta<float> src/als.cc:110 |  |  | 174 ms |  | 120 ms',
      'als::iterate src/als.cc:180 |  |  | 174 ms |  | 120 ms',
    ])
    assert.ok((await rows(page)).includes('norm src/axpy.cu:22 (estimated) |  |  | 120 ms |  | '), (await rows(page)).join('\n'))
  })
})

test('a kernel unfolds to its loops and lines, and its source has samples at the margin', async () => {
  await opened('contexts', { reducedMotion: 'reduce' }, async (page) => {
    await page.locator('#k1 > summary').click()
    const text = await page.locator('#k1').innerText()
    assert.match(text, /62% of its samples in the loop at axpy\.cu:12 to 18; there it mostly waits for data from memory \(71%\)/)
    assert.match(text, /56\.0%\s+waits for data from memory\s+The warp waits for data/)
    assert.match(await page.locator('#k1 pre.samples mark').innerText(), /50\.0%\s*14\s*y\[i\] \+= a \* x\[at\];/)
    await page.click('#k1 button[data-show-work]')
    assert.match(await page.textContent('#tree tr[aria-selected=true]'), /axpy<float, 4>.*300 ms/)
    await page.focus('#tree tr[aria-selected=true]')
    await page.keyboard.press('ArrowRight')
    assert.ok((await rows(page)).some((row) => row.startsWith('loop at axpy.cu:12 to 18 |  |  | 186 ms')), (await rows(page)).join('\n'))
    const frame = page.locator('#time-flame-view g.frame', { hasText: 'axpy.cu:14' }).first()
    await frame.click()
    assert.match(await page.textContent('#tree tr[aria-selected=true]'), /axpy\.cu:14/)
    assert.match(await page.textContent('#tree-status'), /mostly waits for data from memory \(80%\)/)
    await page.click('#tree-views button[data-view=flat]')
    await frame.click()
    assert.match(await page.textContent('#tree tr[aria-selected=true]'), /axpy<float, 4>/)
  })
})

test('the tree is moved through by keys', async () => {
  await opened('contexts', {}, async (page) => {
    const focused = () => page.evaluate(() => document.activeElement.cells[0].textContent)
    await page.focus('#tree tr[tabindex="0"]')
    for (let i = 0; i < 4; ++i) await page.keyboard.press('ArrowDown')
    assert.match(await focused(), /update_theta/)
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    assert.match(await focused(), /cudaLaunchKernel/)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    assert.match(await page.textContent('#tree-status'), /^cudaFree · src\/als.cc:120 · 500 times · 116 ms of its own$/)
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('ArrowLeft')
    assert.match(await focused(), /update_theta/)
    assert.equal((await rows(page)).length, 8)
    await page.keyboard.press('h')
    assert.match(await focused(), /axpy/)
  })
})

test('a click in the flame graph selects in the tree, and the other way round', async () => {
  await opened('contexts', { reducedMotion: 'reduce' }, async (page) => {
    assert.equal(await page.getAttribute('#time-flame-metric button[data-metric=gpu]', 'aria-pressed'), 'true')
    const frame = (name) => page.locator('#time-flame-view g.frame', { hasText: name }).first()
    await frame('reduce_rows').click()
    assert.match(await page.textContent('#time-flame-status'), /^reduce_rows: 250 ms$/)
    assert.match(await page.textContent('#tree tr[aria-selected=true]'), /reduce_rows/)
    assert.match(await page.textContent('#tree-status'), /500 times.*gains 100 ms if it takes half as long, 150 ms at most · K2/)
    await page.click('#time-flame-reset')
    await line(page, 'cudaMemcpy').click()
    assert.equal(await page.textContent('#time-flame-view g[data-selected] .d3-flame-graph-label'), 'cudaMemcpy')
    assert.equal(await page.locator('#tree-status a').count(), 0)
    await page.locator('#k1 > summary').click()
    await page.click('#k1 button[data-show-work]')
    assert.match(await page.textContent('#tree tr[aria-selected=true]'), /axpy.*300 ms/)
    await page.click('#time-flame-metric button[data-metric=time]')
    await frame('waits for the GPU').click()
    assert.match(await page.textContent('#tree tr[aria-selected=true]'), /cudaFree|cudaMemcpy/)
  })
})

test('20,000 contexts, 256 deep: what is folded is not in the page', async () => {
  await opened('vast', { reducedMotion: 'reduce' }, async (page) => {
    assert.ok((await rows(page)).length < 1000)
    for (const view of ['flat', 'bottom-up', 'top-down']) {
      await page.click(`#tree-views button[data-view=${view}]`)
      const count = (await rows(page)).length
      assert.ok(count > 1 && count < 1000, `${view}: ${count}`)
    }
    await page.click('#tree-views button[data-view=flat]')
    await page.locator('#tree tr button', { hasText: 'more' }).click()
    assert.ok((await rows(page)).length > 1000)
    await page.click('#tree-views button[data-view=top-down]')
    await page.click('#time-flame-metric button[data-metric=time]')
    const frames = page.locator('#time-flame-view g.frame', { hasText: 'deep_' })
    await frames.last().dispatchEvent('click')
    assert.match(await page.textContent('#tree tr[aria-selected=true]'), /deep_\d+/)
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false)
  })
})

test('names that look like markup are text, and figures that are none are nothing', async () => {
  await opened('nonsense', {}, async (page) => {
    assert.equal(await page.locator('img').count(), 0)
    assert.match((await rows(page))[0], /^a;b\s<\/script><img src=x onerror=alert\(1\)>/)
    const text = await page.locator('#contexts, #kernels').allInnerTexts()
    assert.doesNotMatch(text.join(' '), /NaN|Infinity|\binf\b|\bnan\b|undefined/)
  })
})

test('on paper the tree is as it was unfolded', async () => {
  await opened('contexts', {}, async (page) => {
    await page.emulateMedia({ media: 'print' })
    assert.ok(await line(page, 'als::iterate').isVisible())
    assert.equal(await page.locator('#tree-views').isVisible(), false)
    assert.equal(await page.locator('#time-flame-view').isVisible(), false)
  })
})

test('a phone has no figure of GPU work that is cut off', async () => {
  await opened('contexts', { viewport: { width: 390, height: 800 } }, async (page) => {
    const cut = await page.$$eval('#work-list > details > summary', (list) => list.filter((one) => one.scrollWidth > one.clientWidth).length)
    assert.equal(cut, 0)
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false)
  })
})
