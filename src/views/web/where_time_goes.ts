// Where time goes: the tree of calling contexts and its flame graph, in which a click in one selects in the other.
import type { FlameNode } from 'd3-flame-graph'
import { ContextTable } from './context_tree'
import { type Column, Contexts } from './contexts'
import type { Data } from './data'
import { FlameChart } from './flame_chart'
import { secondsText } from './format'
import { color } from './theme'

type Metric = Extract<Column, 'time' | 'gpu'>

const kName = 300 // characters

// As wide as the time of threads, or of GPU work. Waiting is a frame of its own.
function flameOf(contexts: Contexts, metric: Metric): FlameNode {
  const nodes: FlameNode[] = []
  for (let i = 0; i < contexts.size; ++i) {
    const waits = metric === 'time' ? contexts.own.waited[i]! : 0
    const node: FlameNode = {
      name: contexts.name(i).slice(0, kName),
      value: contexts.own[metric][i]! - waits,
      children: waits > 0 ? [{ name: 'waits for the GPU', value: waits, context: i, kind: 'wait' }] : [],
      context: i,
      kind: contexts.kind(i),
    }
    nodes.push(node)
    if (i > 0 && contexts.inclusive[metric][i]! > 0) nodes[contexts.parent(i)]!.children!.push(node)
  }
  return nodes[0]!
}

export function setUpWhereTimeGoes(data: Data): void {
  if (!data.profile || data.profile.parent.length < 2) return
  const contexts = new Contexts(data.profile)
  const status = document.getElementById('time-flame-status')!
  let metric: Metric = contexts.inclusive.gpu[0]! > 0 ? 'gpu' : 'time'
  const chart = new FlameChart(document.getElementById('time-flame-view')!, {
    tree: flameOf(contexts, metric),
    label: (node) => `${node.data.name}: ${secondsText(node.value * 1e-9)}`,
    color: ({ data: { kind }, depth }) =>
      kind?.startsWith('gpu') ? color('kernel') : kind === 'wait' ? color('wait') : kind === 'call' ? color('call') : color(depth % 2 ? 'flame-odd' : 'flame-even'),
    isBright: (node) => node.data.kind?.startsWith('gpu') ?? false,
    told: (node, clicked) => {
      status.textContent = `${node.data.name}: ${secondsText(node.value * 1e-9)}`
      if (clicked && node.data.context !== undefined) {
        chart.mark(node.data.context)
        table.reveal(node.data.context)
      }
    },
  })
  const table = new ContextTable(contexts, (row) => {
    const heaviest = row.contexts.reduce((a, b) => (contexts.inclusive[metric][b]! > contexts.inclusive[metric][a]! ? b : a))
    chart.mark(heaviest, true)
  }, metric)
  const buttons = [...document.querySelectorAll<HTMLButtonElement>('#time-flame-metric button')]
  const press = () => {
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.dataset.metric === metric))
  }
  press()
  const choose = (chosen: Metric) => {
    metric = chosen
    press()
    status.textContent = ''
    chart.show(flameOf(contexts, metric))
    table.sortBy(metric)
  }
  for (const button of buttons) button.addEventListener('click', () => choose(button.dataset.metric as Metric))
  document.getElementById('time-flame-reset')!.addEventListener('click', () => {
    chart.reset()
    status.textContent = ''
  })

  for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-show-work]')) {
    const work = Number(button.dataset.showWork)
    const launched = data.profile.work.flatMap((one, i) => (one === work && contexts.kind(i) === 'gpu' ? [i] : []))
    if (launched.length === 0) {
      button.remove()
      continue
    }
    button.addEventListener('click', () => {
      const most = launched.reduce((a, b) => (contexts.inclusive.gpu[b]! > contexts.inclusive.gpu[a]! ? b : a))
      if (metric !== 'gpu') choose('gpu')
      document.getElementById('contexts')!.scrollIntoView({ block: 'start' })
      table.setView('top-down')
      table.reveal(most)
      chart.mark(most, true)
    })
  }
}
