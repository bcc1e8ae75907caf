// A flame graph from the outside in: as wide as its element, in the page's colours, reached by keys. One of its frames
// can be marked by the context that it is of.
import flamegraph, { type FlameChart as Chart, type FlameNode, type Placed } from 'd3-flame-graph'
import { select } from 'd3-selection'
import { onTheme } from './theme'

const kCell = 22

export interface FlameOptions {
  tree: FlameNode
  label: (node: Placed) => string
  color: (node: Placed) => string
  isBright: (node: Placed) => boolean // its text is white
  told: (node: Placed, clicked: boolean) => void // clicked, or reached by a key
}

const placed = (frame: Element) => (frame as unknown as { __data__: Placed }).__data__

export class FlameChart {
  private chart: Chart
  private marked = -1
  private telling = true

  constructor(
    private view: HTMLElement,
    private options: FlameOptions,
  ) {
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    this.chart = flamegraph()
      .width(view.clientWidth)
      .cellHeight(kCell)
      .inverted(true)
      .sort((a, b) => b.value - a.value)
      .selfValue(true)
      .minFrameSize(1)
      .resetHeightOnZoom(true)
      .transitionDuration(still ? 0 : 250)
      .setLabelHandler(options.label)
      .setColorMapper(options.color)
      .onClick((node) => {
        if (this.telling) options.told(node, true)
      })
    select(view).datum(options.tree).call(this.chart as never)
    let width = view.clientWidth
    new ResizeObserver(() => {
      if (view.clientWidth === width || view.clientWidth === 0) return
      width = view.clientWidth
      this.chart.width(width).update()
    }).observe(view)
    onTheme(() => this.chart.update())
    new MutationObserver(() => this.name()).observe(view, { childList: true, subtree: true })
    this.name()
    view.addEventListener('keydown', (event) => this.key(event))
  }

  show(tree: FlameNode): void {
    this.chart.update(tree)
    this.name()
  }

  reset(): void {
    this.telling = false
    this.chart.resetZoom()
    this.telling = true
  }

  // Where its frame is not drawn, or too narrow to be seen, and `zoom`: it is shown alone.
  mark(context: number, zoom = false): void {
    this.marked = context
    this.name()
    let frame = this.view.querySelector<SVGGElement>('g[data-selected]')
    if (zoom && (!frame || frame.getBoundingClientRect().width < 8)) {
      const node = this.find(context)
      if (!node) return
      this.telling = false
      this.chart.zoomTo(node)
      this.telling = true
      this.name()
      frame = this.view.querySelector<SVGGElement>('g[data-selected]')
    }
    if (frame) this.view.scrollTop = Math.max(0, (placed(frame).depth - 6) * kCell)
  }

  private find(context: number): Placed | undefined {
    const open = [select(this.view).datum() as Placed]
    for (let node; (node = open.pop()); open.push(...(node.children ?? [])))
      if (node.data.context === context && node.value > 0) return node
    return undefined
  }

  private frames(): SVGGElement[] {
    return [...this.view.querySelectorAll<SVGGElement>('g.frame')]
  }

  private name(): void {
    let first = true // of a context that waits, the frame of waiting is not marked
    for (const frame of this.frames()) {
      const node = placed(frame)
      frame.setAttribute('role', 'button')
      frame.setAttribute('aria-label', frame.querySelector('title')?.textContent ?? '')
      frame.toggleAttribute('data-bright', this.options.isBright(node))
      const marked = this.marked >= 0 && node.data.context === this.marked && node.data.kind !== 'wait'
      frame.toggleAttribute('data-selected', marked && first)
      if (marked) first = false
      if (!frame.hasAttribute('tabindex')) frame.setAttribute('tabindex', node.depth === 0 ? '0' : '-1')
    }
  }

  // One frame can be reached with Tab; the arrows go on from there.
  private key(event: KeyboardEvent): void {
    const frame = (event.target as Element).closest<SVGGElement>('g.frame')
    if (!frame) return
    const node = placed(frame)
    const beside = this.frames()
      .map(placed)
      .filter((other) => other.depth === node.depth)
      .sort((a, b) => a.x0 - b.x0)
    const at = beside.indexOf(node)
    const goal: Record<string, Placed | null | undefined> = {
      ArrowUp: node.parent,
      ArrowDown: node.children?.[0],
      ArrowLeft: beside[at - 1],
      ArrowRight: beside[at + 1],
    }
    if (event.key === 'Enter' || event.key === ' ') {
      frame.dispatchEvent(new MouseEvent('click', { bubbles: true }))
    } else if (event.key in goal) {
      const next = this.frames().find((other) => placed(other) === goal[event.key])
      if (next) {
        for (const other of this.frames()) other.setAttribute('tabindex', other === next ? '0' : '-1')
        next.focus()
        this.options.told(placed(next), false)
      }
    } else {
      return
    }
    event.preventDefault()
  }
}
