// screenshot.mjs PAGE IMAGE: the top of a page, the timeline zoomed in, as docs/exports.md shows it.
import { launch, open } from './browser.mjs'

const [file, image] = process.argv.slice(2)
const browser = await launch()
const page = await open(browser, file, { viewport: { width: 1100, height: 850 }, colorScheme: 'light' })
await page.focus('#timeline-view canvas')
for (const key of ['+', '+', '+', '+', '+', '+']) await page.keyboard.press(key)
await page.evaluate(() => {
  document.activeElement.blur()
  scrollTo(0, 0)
})
await page.waitForFunction(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))
await page.screenshot({ path: image })
await browser.close()
