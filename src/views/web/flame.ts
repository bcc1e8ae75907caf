// The flame graph of what can be saved: stacks from the outside in, as wide as their findings save.
import type { FlameNode, Placed } from 'd3-flame-graph'
import type { Data, FlameStack } from './data'
import { openElement } from './findings'
import { FlameChart } from './flame_chart'
import { secondsText } from './format'
import { color } from './theme'

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
  const status = document.getElementById('flame-status')!
  if (data.flame.length === 0) return
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
  const isProblem = (node: Placed) => node.data.problem !== undefined
  const chart = new FlameChart(document.getElementById('flame-view')!, {
    tree: treeOf(data.flame),
    label,
    color: (node) => (isProblem(node) ? color('problem') : color(node.depth % 2 ? 'flame-odd' : 'flame-even')),
    isBright: isProblem,
    told: tell,
  })
  document.getElementById('flame-reset')!.addEventListener('click', () => {
    chart.reset()
    status.textContent = ''
  })
}
