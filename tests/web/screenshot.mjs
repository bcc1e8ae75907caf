// screenshot.mjs PAGE IMAGE: the top of a page with its first finding open, as docs/exports.md shows it.
import { launch, open } from './browser.mjs'

const [file, image] = process.argv.slice(2)
const browser = await launch()
const page = await open(browser, file, { viewport: { width: 1100, height: 1000 }, colorScheme: 'light' })
await page.click('#f1 > summary')
for (let i = 0; i < 3; ++i) {
  await page.focus('#timeline-view canvas')
  await page.keyboard.press('n')
}
await page.evaluate(() => {
  document.activeElement.blur()
  scrollTo(0, 0)
})
await page.waitForFunction(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))
await page.screenshot({ path: image })
await browser.close()
