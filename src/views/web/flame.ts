// The flame graph of what can be saved: stacks from the outside in, as wide as their findings save.
import flamegraph, { type FlameNode, type Placed } from 'd3-flame-graph'
import { select } from 'd3-selection'
import type { Data, FlameStack } from './data'
import { openElement } from './findings'
import { secondsText } from './format'
import { color, onTheme } from './theme'

const kCell = 22

export function treeOf(stacks: FlameStack[]): FlameNode {
  const root: FlameNode = { name: 'all findings', value: 0, children: [] }
  for (const stack of stacks) {
    let node = root
    stack.frames.forEach((frame, depth) => {
      const last = depth + 1 === stack.frames.length
      let next = last ? undefined : node.children!.find((child) => child.name === frame && child.children)
      if (!next) {
        next = { name: frame, value: 0, ...(last ? { problem: stack.problem } : { children: [] }) }
        node.children!.push(next)
      }
      node = next
    })
    node.value += stack.us
  }
  return root
}

export function setUpFlame(data: Data): void {
  const view = document.getElementById('flame-view')!
  const status = document.getElementById('flame-status')!
  if (data.flame.length === 0) return
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches
  const label = (node: Placed) => `${node.data.name}: ${secondsText(node.value * 1e-6)}`
  const tell = (node: Placed) => {
    status.textContent = label(node)
    const problem = node.data.problem === undefined ? undefined : data.problems[node.data.problem]
    if (!problem) return
    const link = document.createElement('a')
    link.href = `#${problem.finding}`
    link.textContent = `${problem.id}: go to the finding`
    link.addEventListener('click', (event) => {
      event.preventDefault()
      openElement(problem.finding)
    })
    status.append(' \u00b7 ', link)
  }
  const chart = flamegraph()
    .width(view.clientWidth)
    .cellHeight(kCell)
    .inverted(true)
    .sort((a, b) => b.value - a.value)
    .selfValue(true)
    .minFrameSize(1)
    .transitionDuration(still ? 0 : 250)
    .setLabelHandler(label)
    .setColorMapper((node) =>
      node.data.problem !== undefined ? color('problem') : color(node.depth % 2 ? 'flame-odd' : 'flame-even'),
    )
    .onClick(tell)
  select(view).datum(treeOf(data.flame)).call(chart as never)

  const reset = document.getElementById('flame-reset') as HTMLButtonElement
  reset.addEventListener('click', () => {
    chart.resetZoom()
    status.textContent = ''
  })
  let width = view.clientWidth
  new ResizeObserver(() => {
    if (view.clientWidth === width || view.clientWidth === 0) return
    width = view.clientWidth
    chart.width(width).update()
  }).observe(view)
  onTheme(() => chart.update())
  setUpKeys(view, tell)
}

// One frame can be reached with Tab; the arrows go on from there.
function setUpKeys(view: HTMLElement, tell: (node: Placed) => void): void {
  const frames = () => [...view.querySelectorAll<SVGGElement>('g.frame')]
  const placed = (frame: Element) => (frame as unknown as { __data__: Placed }).__data__
  const roam = (frame: SVGGElement) => {
    for (const other of frames()) other.setAttribute('tabindex', other === frame ? '0' : '-1')
  }
  const name = () => {
    for (const frame of frames()) {
      frame.setAttribute('role', 'button')
      frame.setAttribute('aria-label', frame.querySelector('title')?.textContent ?? '')
      frame.toggleAttribute('data-problem', placed(frame).data.problem !== undefined)
      if (!frame.hasAttribute('tabindex')) frame.setAttribute('tabindex', placed(frame).depth === 0 ? '0' : '-1')
    }
  }
  new MutationObserver(name).observe(view, { childList: true, subtree: true })
  name()
  view.addEventListener('keydown', (event) => {
    const frame = (event.target as Element).closest<SVGGElement>('g.frame')
    if (!frame) return
    const node = placed(frame)
    const beside = frames()
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
      const next = frames().find((other) => placed(other) === goal[event.key])
      if (next) {
        roam(next)
        next.focus()
        tell(placed(next))
      }
    } else {
      return
    }
    event.preventDefault()
  })
}
