// The timeline of CPU threads and GPU streams: zoom and pan by mouse, touch and keys; each event says what it is.
import { scaleLinear } from 'd3-scale'
import { select } from 'd3-selection'
import { zoom, zoomIdentity, type ZoomTransform } from 'd3-zoom'
import type { Data, Lane } from './data'
import { openElement } from './findings'
import { countText, secondsText } from './format'
import { onTheme } from './theme'
import { draw, firstBehind, kAxis, kGutter, rowsOf, type Row, type View } from './timeline_draw'

const kMostHeight = 460
const kShortest = 2e-6 // seconds that a screen may be wide

export interface TimelineView {
  show(problem: number): void // alone, with its longest event in the middle
}

class TimelineCanvas implements TimelineView {
  private rows: Row[]
  private view: View
  private drawing = false
  private canvas = document.createElement('canvas')
  private scroller = document.getElementById('timeline-view')!
  private tip = document.getElementById('timeline-tip')!
  private status = document.getElementById('timeline-status')!
  private zoomer = zoom<HTMLCanvasElement, unknown>()

  constructor(private data: Data) {
    const timeline = data.timeline!
    const { rows, height } = rowsOf(timeline)
    this.rows = rows
    this.view = {
      begin: 0,
      end: timeline.duration,
      width: 0,
      height: Math.min(height, kMostHeight),
      scroll: 0,
      only: -1,
      selected: null,
      manyProcesses: timeline.processes > 1,
    }
    const space = document.createElement('div')
    space.style.height = `${height}px`
    space.append(this.canvas)
    this.scroller.append(space)
    this.scroller.style.height = `${this.view.height}px`
    this.canvas.tabIndex = 0
    this.canvas.setAttribute('role', 'application')
    this.canvas.setAttribute('aria-label', this.describe())
    this.canvas.setAttribute('aria-describedby', 'timeline-keys')
    this.listen()
  }

  private describe(): string {
    const timeline = this.data.timeline!
    const threads = timeline.lanes.filter((lane) => lane.kind === 'thread').length
    return (
      `Timeline of ${secondsText(timeline.duration)}: ${threads} CPU threads, ` +
      `${timeline.lanes.length - threads} GPU streams, ${countText(timeline.events)} events`
    )
  }

  private listen(): void {
    this.zoomer
      .filter(
        (event: WheelEvent | MouseEvent) =>
          event.type !== 'wheel' || event.ctrlKey || event.metaKey || document.activeElement === this.canvas,
      )
      .on('zoom', (event: { transform: ZoomTransform }) => this.apply(event.transform))
    select(this.canvas).call(this.zoomer).on('dblclick.zoom', null)
    this.canvas.addEventListener('mousemove', (event) => this.hover(event))
    this.canvas.addEventListener('mouseleave', () => (this.tip.hidden = true))
    this.canvas.addEventListener('click', (event) => {
      const hit = this.at(event.offsetX, event.offsetY)
      this.select(hit)
    })
    this.canvas.addEventListener('dblclick', () => this.open())
    this.canvas.addEventListener('keydown', (event) => this.key(event))
    this.scroller.addEventListener('scroll', () => {
      this.view.scroll = this.scroller.scrollTop
      this.redraw()
    })
    const press = (id: string, act: () => void) => document.getElementById(id)!.addEventListener('click', act)
    press('zoom-in', () => this.scale(2))
    press('zoom-out', () => this.scale(0.5))
    press('zoom-all', () => this.all())
    press('next-problem', () => this.step(1))
    press('previous-problem', () => this.step(-1))
    new ResizeObserver(() => this.resize()).observe(this.scroller)
    this.resize()
    onTheme(() => this.redraw())
  }

  private resize(): void {
    const width = this.scroller.clientWidth
    if (width === 0) return
    const { begin, end } = this.view
    this.view.width = width
    const ratio = window.devicePixelRatio || 1
    this.canvas.width = Math.round(width * ratio)
    this.canvas.height = Math.round(this.view.height * ratio)
    this.canvas.style.width = `${width}px`
    this.canvas.style.height = `${this.view.height}px`
    const extent: [[number, number], [number, number]] = [
      [kGutter, 0],
      [width, this.view.height],
    ]
    const most = Math.max(1, this.data.timeline!.duration / kShortest)
    this.zoomer.extent(extent).translateExtent(extent).scaleExtent([1, most])
    this.goTo(begin, end)
  }

  // All of the time, from side to side.
  private base() {
    return scaleLinear([0, this.data.timeline!.duration], [kGutter, this.view.width])
  }

  private apply(transform: ZoomTransform): void {
    const [begin, end] = transform.rescaleX(this.base()).domain() as [number, number]
    this.view.begin = begin
    this.view.end = end
    // For tests, and for who looks at the page's elements.
    this.canvas.dataset.begin = begin.toPrecision(9)
    this.canvas.dataset.end = end.toPrecision(9)
    this.redraw()
  }

  // As much of this as there is, and no less than kShortest.
  private goTo(begin: number, end: number): void {
    const { duration } = this.data.timeline!
    const length = Math.min(Math.max(end - begin, kShortest), duration)
    const from = Math.min(Math.max(begin, 0), duration - length)
    const factor = duration / length
    const left = kGutter - factor * this.base()(from)
    select(this.canvas).call(this.zoomer.transform, zoomIdentity.translate(left, 0).scale(factor))
  }

  private all(): void {
    this.view.only = -1
    this.goTo(0, this.data.timeline!.duration)
    this.status.textContent = ''
  }

  private scale(factor: number): void {
    const { begin, end, selected } = this.view
    const middle = selected
      ? Math.min(Math.max(selected.row.lane.begin[selected.index]!, begin), end)
      : (begin + end) / 2
    this.goTo(middle - (middle - begin) / factor, middle + (end - middle) / factor)
  }

  private pan(share: number): void {
    const { begin, end } = this.view
    this.goTo(begin + share * (end - begin), end + share * (end - begin))
  }

  private key(event: KeyboardEvent): void {
    const act: Record<string, () => void> = {
      ArrowLeft: () => this.pan(-0.2),
      ArrowRight: () => this.pan(0.2),
      ArrowUp: () => (this.scroller.scrollTop -= 40),
      ArrowDown: () => (this.scroller.scrollTop += 40),
      '+': () => this.scale(2),
      '=': () => this.scale(2),
      '-': () => this.scale(0.5),
      '0': () => this.all(),
      Home: () => this.all(),
      n: () => this.step(1),
      p: () => this.step(-1),
      Enter: () => this.open(),
      Escape: () => {
        this.view.only = -1
        this.select(null)
      },
    }
    const what = act[event.key]
    if (!what || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    what()
  }

  private isMarked(lane: Lane, index: number): boolean {
    const problem = lane.mark[index]! - 1
    return problem >= 0 && (this.view.only < 0 || problem === this.view.only)
  }

  // The next problematic event behind the selected one, in time, over all threads.
  private step(direction: 1 | -1): void {
    const { selected, begin, end } = this.view
    const from = selected ? selected.row.lane.begin[selected.index]! : direction > 0 ? begin : end
    let best: { row: Row; index: number } | null = null
    for (const row of this.rows) {
      const { lane } = row
      const all = lane.begin.length
      for (let i = direction > 0 ? 0 : all - 1; i >= 0 && i < all; i += direction) {
        const past = direction > 0 ? lane.begin[i]! > from : lane.begin[i]! < from
        if (!past || !this.isMarked(lane, i)) continue
        if (!best || (lane.begin[i]! - best.row.lane.begin[best.index]!) * direction < 0) best = { row, index: i }
        break
      }
    }
    if (best) this.focusOn(best, 300)
    else this.status.textContent = 'No further problem'
  }

  // What is narrower than this part of the view is zoomed to.
  private focusOn(hit: { row: Row; index: number }, narrowest: number): void {
    const { lane } = hit.row
    const length = lane.end[hit.index]! - lane.begin[hit.index]!
    const middle = lane.begin[hit.index]! + length / 2
    let range = this.view.end - this.view.begin
    // Wide enough to see, and not so wide that nothing is beside it.
    if (length < range / narrowest) range = length * 10
    if (length > range / 2) range = length * 4
    this.goTo(middle - range / 2, middle + range / 2)
    const top = hit.row.top
    if (top < this.view.scroll || top + hit.row.height > this.view.scroll + this.view.height - kAxis)
      this.scroller.scrollTop = Math.max(0, top - 40)
    this.select(hit)
  }

  show(problem: number): void {
    this.view.only = problem
    let best: { row: Row; index: number } | null = null
    let most = -1
    for (const { row, index, weight } of this.marked(problem))
      if (weight > most) {
        most = weight
        best = { row, index }
      }
    document.getElementById('timeline')!.scrollIntoView({ block: 'start' })
    this.canvas.focus({ preventScroll: true })
    if (best) this.focusOn(best, 12)
    this.redraw()
  }

  // The longest is shown, and rather one by itself than several in one.
  private *marked(problem: number): Generator<{ row: Row; index: number; weight: number }> {
    for (const row of this.rows) {
      const { mark, busy, count } = row.lane
      for (let index = 0; index < mark.length; ++index)
        if (mark[index] === problem + 1)
          yield { row, index, weight: count[index] === 1 ? 1 + busy[index]! : busy[index]! / count[index]! / 1e9 }
    }
  }

  private at(x: number, y: number): { row: Row; index: number } | null {
    const down = y + this.view.scroll - kAxis
    const row = this.rows.find((one) => down >= one.top - 4 && down < one.top + one.height + 4)
    if (!row || x < kGutter) return null
    const { lane } = row
    const second = (this.view.end - this.view.begin) / (this.view.width - kGutter)
    const time = this.view.begin + (x - kGutter) * second
    let best = -1
    let weight = -1
    for (let i = firstBehind(lane, time - 3 * second); i < lane.begin.length; ++i) {
      if (lane.begin[i]! > time + 3 * second) break
      if (lane.end[i]! < time - 3 * second) continue
      const inside = lane.begin[i]! <= time && time < lane.end[i]!
      const its = (this.isMarked(lane, i) ? 4 : 0) + (inside ? 2 : 0) + (lane.busy[i]! > second ? 1 : 0)
      if (its > weight) [best, weight] = [i, its]
    }
    return best < 0 ? null : { row, index: best }
  }

  private words(hit: { row: Row; index: number }): string {
    const { lane } = hit.row
    const i = hit.index
    const many = lane.count[i]! > 1
    const name = this.data.timeline!.names[lane.what[i]!]!
    const problem = this.data.problems[lane.mark[i]! - 1]
    const required = this.data.required[-lane.mark[i]! - 1]
    const parts = [
      many ? `${countText(lane.count[i]!)} events, the longest ${name}` : name,
      many
        ? `${secondsText(lane.busy[i]!)} in ${secondsText(lane.end[i]! - lane.begin[i]!)}`
        : secondsText(lane.busy[i]!),
    ]
    if (lane.waited[i]! > 0) parts.push(`waited ${secondsText(lane.waited[i]!)}`)
    parts.push(`at ${secondsText(lane.begin[i]!)}`)
    if (problem) parts.push(`${problem.id} ${problem.phrase}, ${problem.where}; fixing all its calls saves ${problem.saves}`)
    if (required) parts.push(`${required.id}: a needed wait that costs much`)
    return parts.join(' \u00b7 ')
  }

  private hover(event: MouseEvent): void {
    const hit = this.at(event.offsetX, event.offsetY)
    this.tip.hidden = !hit
    if (!hit) return
    this.tip.textContent = this.words(hit)
    const box = this.scroller.getBoundingClientRect()
    const left = Math.min(event.clientX - box.left + 14, box.width - this.tip.offsetWidth - 8)
    this.tip.style.left = `${Math.max(4, left)}px`
    this.tip.style.top = `${event.clientY - box.top + 18}px`
  }

  private select(hit: { row: Row; index: number } | null): void {
    this.view.selected = hit
    this.status.textContent = hit ? this.words(hit) : ''
    const target = hit && this.targetOf(hit)
    if (target) {
      const link = document.createElement('a')
      link.href = `#${target}`
      link.textContent = 'Go to the finding'
      link.addEventListener('click', (event) => {
        event.preventDefault()
        openElement(target)
      })
      this.status.append(' \u00b7 ', link)
    }
    this.redraw()
  }

  private targetOf(hit: { row: Row; index: number }): string | undefined {
    const mark = hit.row.lane.mark[hit.index]!
    return mark > 0 ? this.data.problems[mark - 1]?.finding : this.data.required[-mark - 1]?.element
  }

  private open(): void {
    const target = this.view.selected && this.targetOf(this.view.selected)
    if (target) openElement(target)
  }

  private redraw(): void {
    if (this.drawing) return
    this.drawing = true
    requestAnimationFrame(() => {
      this.drawing = false
      const context = this.canvas.getContext('2d')!
      const ratio = window.devicePixelRatio || 1
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
      draw(context, this.data.timeline!, this.rows, this.view)
    })
  }
}

export function setUpTimeline(data: Data): TimelineView | null {
  if (!data.timeline || data.timeline.lanes.length === 0) return null
  return new TimelineCanvas(data)
}
