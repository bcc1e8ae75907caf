// The report as a web page, where scripts run. What has to be read is in the page without them.
import { readData } from './data'
import { openElement, setUpFindings } from './findings'
import { setUpFlame } from './flame'
import { setUpTheme } from './theme'
import { setUpTimeline } from './timeline'
import { setUpWhereTimeGoes } from './where_time_goes'

document.documentElement.classList.add('scripted')
const data = readData()
setUpFindings()
const timeline = setUpTimeline(data)
setUpFlame(data)
setUpWhereTimeGoes(data)
setUpTheme()

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-show-problem]'))
  button.addEventListener('click', () => timeline?.show(Number(button.dataset.showProblem)))
if (!timeline) for (const button of document.querySelectorAll('button[data-show-problem]')) button.remove()

const target = decodeURIComponent(location.hash.slice(1))
if (/^[frk]\d+$/.test(target)) openElement(target)
document.documentElement.dataset.ready = 'yes'
