// Draws the part of the timeline that is in view. Levels of detail: what is a pixel wide or more is a bar of its own;
// of shorter events, and of those that are merged, columns a pixel wide show for what share of the time they last,
// findings at the bottom. So a glance from afar tells how busy a thread is, and how much of that can be saved; and the
// time to draw depends on the screen's width, not on how long the events are.
import type { Lane, Timeline } from './data'
import { tickText } from './format'
import { color } from './theme'

export const kGutter = 132 // labels
export const kAxis = 26
const kBar = { thread: 20, stream: 14 }
const kStrip = 5 // below a thread's bars: where findings are, whatever their length
const kGap = 8

export interface Row {
  lane: Lane
  top: number // below the axis
  bar: number
  height: number
}

export function rowsOf(timeline: Timeline): { rows: Row[]; height: number } {
  let top = 4
  const rows = timeline.lanes.map((lane) => {
    const bar = kBar[lane.kind]
    const row = { lane, top, bar, height: bar + (lane.kind === 'thread' ? kStrip + 2 : 0) }
    top += row.height + kGap
    return row
  })
  return { rows, height: top + kAxis }
}

export interface View {
  begin: number
  end: number // seconds
  width: number
  height: number
  scroll: number // pixels
  only: number // a problem that is shown alone, or -1
  selected: { row: Row; index: number } | null
  manyProcesses: boolean
}

export type Palette = Record<
  'text' | 'faint' | 'line' | 'panel' | 'call' | 'wait' | 'problem' | 'needed' | 'kernel' | 'copy' | 'accent' | 'full',
  string
>
export function palette(): Palette {
  const names = ['text', 'faint', 'line', 'panel', 'call', 'wait', 'problem', 'needed', 'kernel', 'copy', 'accent', 'full']
  return Object.fromEntries(names.map((name) => [name, color(name)])) as Palette
}

// The first interval that ends behind `time`, or one before it.
export function firstBehind(lane: Lane, time: number): number {
  let low = 0
  let high = lane.ended.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (lane.ended[middle]! <= time) low = middle + 1
    else high = middle
  }
  return low
}

// 0: calls, 1: needed waits that cost much, 2: problems.
function layerOf(mark: number, only: number): number {
  if (mark > 0) return only < 0 || mark - 1 === only ? 2 : 0
  return mark < 0 && only < 0 ? 1 : 0
}

class LaneDrawing {
  private columns: Float32Array[]
  constructor(
    private context: CanvasRenderingContext2D,
    private view: View,
    private colors: Palette,
    private names: string[],
  ) {
    this.columns = [0, 1, 2].map(() => new Float32Array(view.width + 2))
  }

  private x(time: number): number {
    const { begin, end, width } = this.view
    return kGutter + ((time - begin) / (end - begin)) * (width - kGutter)
  }

  private fillOf(lane: Lane, index: number, layer: number): string {
    if (layer === 2) return this.colors.problem
    if (layer === 1) return this.colors.needed
    if (lane.kind === 'thread') return lane.waited[index]! > 0 ? this.colors.wait : this.colors.call
    return this.names[lane.what[index]!]!.startsWith('copy') ? this.colors.copy : this.colors.kernel
  }

  draw(row: Row): void {
    const { lane } = row
    const { view, context } = this
    const top = row.top - view.scroll + kAxis
    const pixel = (view.end - view.begin) / (view.width - kGutter)
    for (const column of this.columns) column.fill(0)
    for (let layer = 0; layer < 3; ++layer) {
      for (let i = firstBehind(lane, view.begin); i < lane.begin.length && lane.begin[i]! < view.end; ++i) {
        if (layerOf(lane.mark[i]!, view.only) !== layer) continue
        const from = this.x(Math.max(lane.begin[i]!, view.begin))
        const to = this.x(Math.min(lane.end[i]!, view.end))
        const length = lane.end[i]! - lane.begin[i]!
        if (to - from < 1) {
          this.columns[layer]![Math.floor(from)]! += Math.min(lane.busy[i]!, pixel)
          continue
        }
        if (lane.count[i]! > 1) {
          const share = (pixel * lane.busy[i]!) / length
          for (let x = Math.floor(from); x < to; ++x) this.columns[layer]![x]! += share
          continue
        }
        context.fillStyle = this.fillOf(lane, i, layer)
        context.fillRect(from, top, to - from, row.bar)
        if (to - from > 3) {
          context.fillStyle = this.colors.panel
          context.fillRect(to - 0.75, top, 0.75, row.bar) // from the next one
        }
        if (layer === 2 && lane.kind === 'thread') {
          context.fillStyle = this.colors.problem
          context.fillRect(from, top + row.bar + 2, Math.max(to - from, 2), kStrip)
        }
        if (to - from > 60 && row.bar > 12) this.label(lane, i, layer, from, to, top, row.bar)
      }
    }
    this.drawColumns(row, top, pixel)
  }

  private label(lane: Lane, i: number, layer: number, from: number, to: number, top: number, bar: number): void {
    const { context } = this
    context.save()
    context.beginPath()
    context.rect(from, top, to - from, bar)
    context.clip()
    context.fillStyle = layer > 0 || lane.kind === 'stream' ? '#fff' : this.colors.text
    context.fillText(this.names[lane.what[i]!]!, from + 4, top + bar / 2 + 0.5)
    context.restore()
  }

  private drawColumns(row: Row, top: number, pixel: number): void {
    const { context, colors } = this
    const stream = row.lane.kind === 'stream'
    const fills = [stream ? colors.kernel : colors.call, colors.needed, colors.problem]
    for (let x = kGutter; x < this.view.width; ++x) {
      let bottom = top + row.bar
      for (let layer = 2; layer >= 0; --layer) {
        const time = this.columns[layer]![x]!
        if (time === 0) continue
        const high = Math.max(layer === 2 ? 2 : 1, row.bar * Math.min(1, time / pixel))
        const upper = Math.max(top, bottom - high)
        context.fillStyle = fills[layer]!
        context.fillRect(x, upper, 1, bottom - upper)
        bottom = upper
        if (layer === 2 && !stream) context.fillRect(x, top + row.bar + 2, 1, kStrip)
      }
    }
  }
}

function stepOf(range: number, room: number): number {
  const least = (range * 90) / Math.max(room, 90)
  const power = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power
}

function drawAxis(context: CanvasRenderingContext2D, view: View, colors: Palette): void {
  const room = view.width - kGutter
  const range = view.end - view.begin
  const step = stepOf(range, room)
  context.textAlign = 'center'
  for (let tick = Math.ceil(view.begin / step) * step; tick <= view.end; tick += step) {
    const x = Math.round(kGutter + ((tick - view.begin) / range) * room) + 0.5
    context.fillStyle = colors.line
    context.fillRect(x - 0.5, kAxis - 5, 1, view.height)
    context.fillStyle = colors.faint
    if (x > kGutter + 24 && x < view.width - 24) context.fillText(tickText(tick, step), x, kAxis / 2 - 1)
  }
  context.textAlign = 'left'
}

function drawFull(context: CanvasRenderingContext2D, timeline: Timeline, view: View, colors: Palette): void {
  const scale = (view.width - kGutter) / (view.end - view.begin)
  context.fillStyle = colors.full
  for (const { begin, end } of timeline.full) {
    const from = Math.max(kGutter, kGutter + (begin - view.begin) * scale)
    const to = Math.min(view.width, kGutter + (end - view.begin) * scale)
    if (to > from) context.fillRect(from, 0, Math.max(to - from, 1), view.height)
  }
}

export function draw(context: CanvasRenderingContext2D, timeline: Timeline, rows: Row[], view: View): void {
  const colors = palette()
  context.clearRect(0, 0, view.width, view.height)
  context.font = '12px system-ui, sans-serif'
  context.textBaseline = 'middle'
  drawFull(context, timeline, view, colors)
  drawAxis(context, view, colors)
  const lanes = new LaneDrawing(context, view, colors, timeline.names)
  context.save()
  context.beginPath()
  context.rect(0, kAxis, view.width, view.height - kAxis)
  context.clip()
  for (const row of rows) {
    const top = row.top - view.scroll + kAxis
    if (top + row.height < kAxis || top > view.height) continue
    lanes.draw(row)
    context.fillStyle = colors.panel
    context.fillRect(0, top - 2, kGutter - 1, row.height + 4)
    context.fillStyle = row.lane.kind === 'thread' ? colors.text : colors.faint
    const name = view.manyProcesses ? `${row.lane.process}: ${row.lane.name}` : row.lane.name
    context.fillText(name, 4, top + row.bar / 2, kGutter - 12)
  }
  if (view.selected) drawSelection(context, view, colors)
  context.restore()
}

function drawSelection(context: CanvasRenderingContext2D, view: View, colors: Palette): void {
  const { row, index } = view.selected!
  const room = view.width - kGutter
  const at = (time: number) => kGutter + ((time - view.begin) / (view.end - view.begin)) * room
  const from = Math.max(at(row.lane.begin[index]!), kGutter)
  const to = Math.min(at(row.lane.end[index]!), view.width)
  if (to < kGutter || from > view.width) return
  context.strokeStyle = colors.accent
  context.lineWidth = 2
  context.strokeRect(from - 2, row.top - view.scroll + kAxis - 3, Math.max(to - from, 2) + 4, row.height + 6)
}
