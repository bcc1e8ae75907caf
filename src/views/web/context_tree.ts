// The tree of calling contexts as a table: unfolded row by row, sorted, its columns chosen. What is folded is not in the
// page, and of many children some at a time.
import { type Column, type Contexts, hotPath, type Row, type View } from './contexts'
import { countText, secondsText } from './format'

const kAtATime = 200 // children of one row
const kIndent = 12 // pixels
const kDeepest = 16 // levels that are indented; those below have their number
const kShortName = 300 // characters; the rest is cut, and told when the row is selected

interface Shown {
  key: Column | 'own time' | 'own gpu'
  name: string
  title: string
  on: boolean
}

const kColumns: Shown[] = [
  { key: 'time', name: 'time', title: 'of threads: CPU, driver and waiting', on: true },
  { key: 'cpu', name: 'CPU', title: 'computing, between calls of the driver', on: false },
  { key: 'driver', name: 'driver', title: 'inside the driver, not waiting', on: false },
  { key: 'waited', name: 'waited', title: 'waiting for the GPU', on: true },
  { key: 'idle', name: 'GPU idle', title: 'of the time there: while the GPU had nothing to do', on: true },
  { key: 'gpu', name: 'GPU', title: 'time of GPU work', on: true },
  { key: 'recoverable', name: 'recoverable', title: 'what fixing the findings there saves, summed', on: true },
  { key: 'gain', name: 'gain', title: 'what the run gains if the GPU work there takes half as long, summed', on: true },
  { key: 'own time', name: 'own time', title: 'of threads, without what is called', on: false },
  { key: 'own gpu', name: 'own GPU', title: 'of this kernel or copy itself', on: false },
  { key: 'count', name: 'count', title: 'calls of the driver and pieces of GPU work', on: false },
]

export class ContextTable {
  private view: View = 'top-down'
  private sorted: Shown = kColumns[0]!
  private reversed = false
  private roots: Row[] = []
  private open = new Set<Row>()
  private shown = new Map<Row | null, number>() // how many children
  private rowOf = new WeakMap<Element, Row>()
  private elementOf = new Map<Row, HTMLTableRowElement>()
  private body = document.createElement('tbody')
  private table = document.getElementById('tree') as HTMLTableElement
  private status = document.getElementById('tree-status')!

  // `told`: a row was selected here. `sorted`: by what at first.
  constructor(
    private contexts: Contexts,
    private told: (row: Row) => void,
    sorted: Column,
  ) {
    this.sorted = kColumns.find((one) => one.key === sorted)!
    const something = (column: Shown) => this.contexts.size > 0 && this.whole(column) > 0
    for (const column of kColumns) column.on &&= something(column) || column.key === 'time'
    this.setUpColumns()
    for (const button of document.querySelectorAll<HTMLButtonElement>('#tree-views button'))
      button.addEventListener('click', () => this.setView(button.dataset.view as View))
    document.getElementById('tree-hot')!.addEventListener('click', () => this.unfoldHot(this.selected() ?? this.roots[0]))
    this.body.addEventListener('click', (event) => this.click(event))
    this.body.addEventListener('dblclick', (event) => {
      const row = this.rowAt(event.target)
      if (row) this.toggle(row)
    })
    this.body.addEventListener('keydown', (event) => this.key(event))
    this.setView('top-down')
  }

  private column(shown: Shown): Column {
    return shown.key === 'own time' ? 'time' : shown.key === 'own gpu' ? 'gpu' : shown.key
  }

  private figure(row: Row, shown: Shown): number {
    return shown.key.startsWith('own') ? row.own(this.column(shown)) : row.amount(this.column(shown))
  }

  private whole(shown: Shown): number {
    return this.contexts.inclusive[this.column(shown)][0] ?? 0
  }

  private setUpColumns(): void {
    const list = document.querySelector('#tree-columns > div')!
    for (const column of kColumns) {
      const label = document.createElement('label')
      const box = document.createElement('input')
      box.type = 'checkbox'
      box.checked = column.on
      box.addEventListener('change', () => {
        column.on = box.checked
        this.draw()
      })
      label.append(box, ` ${column.name}: ${column.title}`)
      list.append(label)
    }
  }

  setView(view: View): void {
    this.view = view
    for (const button of document.querySelectorAll<HTMLElement>('#tree-views button'))
      button.setAttribute('aria-pressed', String(button.dataset.view === view))
    this.roots = this.contexts.rows(view)
    this.open.clear()
    this.shown.clear()
    this.status.textContent = ''
    if (view === 'top-down' && this.roots[0]) for (const row of hotPath(this.roots[0], this.column(this.sorted))) this.open.add(row)
    this.draw()
  }

  sortBy(key: Column): void {
    const column = kColumns.find((one) => one.key === key)!
    column.on = true
    this.sorted = column
    this.reversed = false
    if (this.open.size === 0 || this.selected() || this.view !== 'top-down') this.draw()
    else this.setView(this.view)
  }

  private inOrder(rows: Row[]): Row[] {
    const sign = this.reversed ? -1 : 1
    return [...rows].sort((a, b) => sign * (this.figure(b, this.sorted) - this.figure(a, this.sorted)) || b.amount('time') - a.amount('time'))
  }

  private draw(): void {
    const selected = this.selected()
    const head = document.createElement('thead')
    const line = head.insertRow()
    const name = document.createElement('th')
    name.textContent = 'context'
    line.append(name)
    for (const column of kColumns.filter((one) => one.on)) {
      const cell = document.createElement('th')
      const button = document.createElement('button')
      button.type = 'button'
      button.textContent = column.name
      button.title = column.title
      button.dataset.column = column.key
      cell.className = 'number'
      if (column === this.sorted) {
        button.dataset.order = this.reversed ? 'reversed' : 'usual'
        cell.setAttribute('aria-sort', this.reversed ? 'ascending' : 'descending')
      }
      button.addEventListener('click', () => {
        this.reversed = column === this.sorted && !this.reversed
        this.sorted = column
        this.draw()
        this.table.querySelector<HTMLElement>(`button[data-column="${column.key}"]`)?.focus()
      })
      cell.append(button)
      line.append(cell)
    }
    this.elementOf.clear()
    this.body.replaceChildren(...this.lines(null, this.roots))
    this.table.replaceChildren(head, this.body)
    if (selected) this.mark(selected)
    else this.body.querySelector('tr')?.setAttribute('tabindex', '0')
  }

  // The rows that are to be seen of these and what is unfolded below them.
  private lines(parent: Row | null, rows: Row[]): HTMLTableRowElement[] {
    const lines: HTMLTableRowElement[] = []
    const levels = [{ parent, rows: this.inOrder(rows), next: 0 }]
    while (levels.length > 0) {
      const level = levels[levels.length - 1]!
      const most = this.shown.get(level.parent) ?? kAtATime
      if (level.next >= Math.min(most, level.rows.length)) {
        if (level.rows.length > most) lines.push(this.moreLine(level.parent, level.rows.length - most))
        levels.pop()
        continue
      }
      const row = level.rows[level.next++]!
      lines.push(this.line(row))
      if (this.open.has(row)) levels.push({ parent: row, rows: this.inOrder(row.children()), next: 0 })
    }
    return lines
  }

  private indent(depth: number): string {
    return `${8 + Math.min(depth, kDeepest) * kIndent}px`
  }

  private line(row: Row): HTMLTableRowElement {
    const line = document.createElement('tr')
    line.tabIndex = -1
    line.setAttribute('aria-level', String(row.depth + 1))
    if (row.folds) line.setAttribute('aria-expanded', String(this.open.has(row)))
    line.dataset.kind = this.contexts.kind(row.context)
    if (!this.contexts.profile.own[row.context]) line.dataset.other = ''
    const name = line.insertCell()
    name.style.paddingLeft = this.indent(row.depth)
    const fold = document.createElement('span')
    fold.className = 'fold'
    const words = document.createElement('span')
    words.textContent = this.contexts.name(row.context).slice(0, kShortName)
    const place = document.createElement('small')
    place.textContent = this.place(row).slice(-kShortName)
    const level = row.depth > kDeepest ? [Object.assign(document.createElement('small'), { textContent: `${row.depth} ` })] : []
    name.append(fold, ...level, words, ' ', place)
    for (const column of kColumns.filter((one) => one.on)) {
      const cell = line.insertCell()
      const figure = this.figure(row, column)
      const whole = this.whole(column)
      cell.className = 'number'
      cell.textContent = figure === 0 ? '' : column.key === 'count' ? countText(figure) : secondsText(figure * 1e-9)
      if (figure > 0 && whole > 0) cell.style.setProperty('--share', `${Math.min(100, (100 * figure) / whole).toFixed(1)}%`)
    }
    this.rowOf.set(line, row)
    this.elementOf.set(row, line)
    return line
  }

  private moreLine(parent: Row | null, left: number): HTMLTableRowElement {
    const line = document.createElement('tr')
    const cell = line.insertCell()
    const button = document.createElement('button')
    cell.colSpan = 1 + kColumns.filter((one) => one.on).length
    cell.style.paddingLeft = this.indent(parent ? parent.depth + 1 : 0)
    button.type = 'button'
    button.textContent = `${countText(left)} more`
    button.addEventListener('click', () => {
      this.shown.set(parent, (this.shown.get(parent) ?? kAtATime) + 5 * kAtATime)
      this.draw()
    })
    cell.append(button)
    return line
  }

  // Of several calls of one driver function there is none.
  private place(row: Row): string {
    const kind = this.contexts.kind(row.context)
    const one = row.contexts.length === 1 || kind === 'frame' || kind === 'gpu-function'
    return one ? this.contexts.place(row.context) : ''
  }

  private rowAt(target: EventTarget | null): Row | undefined {
    const line = (target as Element | null)?.closest('tr')
    return line ? this.rowOf.get(line) : undefined
  }

  private selected(): Row | undefined {
    const line = this.body.querySelector('tr[aria-selected=true]')
    return line ? this.rowOf.get(line) : undefined
  }

  private click(event: MouseEvent): void {
    const row = this.rowAt(event.target)
    if (!row) return
    if ((event.target as Element).classList.contains('fold')) return this.toggle(row)
    this.select(row)
    this.told(row)
  }

  private toggle(row: Row): void {
    const line = this.elementOf.get(row)
    if (!row.folds || !line) return
    if (this.open.delete(row)) {
      while (line.nextElementSibling && this.depthOf(line.nextElementSibling) > row.depth) line.nextElementSibling.remove()
    } else {
      this.open.add(row)
      line.after(...this.lines(row, row.children()))
    }
    line.setAttribute('aria-expanded', String(this.open.has(row)))
  }

  // A line without a row offers more of the rows before it.
  private depthOf(line: Element): number {
    return this.rowOf.get(line)?.depth ?? Infinity
  }

  private unfoldHot(from: Row | undefined): void {
    if (!from) return
    const path = hotPath(from, this.column(this.sorted))
    for (const row of path) if (row.folds) this.open.add(row)
    this.draw()
    const last = path[path.length - 1]!
    this.select(last)
    this.elementOf.get(last)?.focus()
    this.told(last)
  }

  private mark(row: Row): void {
    for (const line of this.body.querySelectorAll('tr[aria-selected], tr[tabindex="0"]')) {
      line.removeAttribute('aria-selected')
      line.setAttribute('tabindex', '-1')
    }
    const line = this.elementOf.get(row)
    line?.setAttribute('aria-selected', 'true')
    line?.setAttribute('tabindex', '0')
  }

  private select(row: Row): void {
    this.mark(row)
    this.status.replaceChildren(...this.words(row))
  }

  // All that is known of a row, its whole name among it.
  private words(row: Row): Node[] {
    const { contexts } = this
    const { profile } = contexts
    const at = row.context
    const parts = [contexts.name(at), this.place(row)]
    if (row.contexts.length > 1) parts.push(`${countText(row.contexts.length)} contexts`)
    if (profile.called[at]! > 0 && (contexts.kind(at) === 'frame' || contexts.kind(at) === 'gpu-function') && row.contexts.length === 1) parts.push(`called in line ${profile.called[at]}`)
    const why = profile.texts[profile.why[at]!]
    if (why && row.contexts.length === 1) parts.push(`mostly ${why}`)
    if (row.own('count') > 0) parts.push(`${countText(row.own('count'))} times`)
    if (row.own('time') > 0) parts.push(`${secondsText(row.own('time') * 1e-9)} of its own`)
    if (row.contexts.length === 1 && profile.most_gain[at]! > 0)
      parts.push(`the run gains ${secondsText(profile.gain[at]! * 1e-9)} if it takes half as long, ${secondsText(profile.most_gain[at]! * 1e-9)} at most`)
    if (profile.threads[at]! > 1) parts.push(`in ${countText(profile.threads[at]!)} threads`)
    for (const [ranks, what] of [[profile.cpu_ranks, 'time'], [profile.gpu_ranks, 'GPU time']] as const)
      for (const [context, least, most] of ranks ?? [])
        if (context === at) parts.push(`${what} from ${least} to ${most} in each process`)
    const nodes: Node[] = [document.createTextNode(parts.filter(Boolean).join(' \u00b7 '))]
    const work = profile.work[at]!
    if (work >= 0 && work < profile.work_shown) {
      const link = document.createElement('a')
      link.href = `#k${work + 1}`
      link.textContent = `K${work + 1}`
      link.addEventListener('click', () => document.getElementById(`k${work + 1}`)?.setAttribute('open', ''))
      nodes.push(document.createTextNode(' \u00b7 '), link)
    }
    return nodes
  }

  // Unfolds what is above a context, and selects it. In views of functions: the function.
  reveal(context: number): void {
    let row: Row | undefined
    if (this.view === 'top-down') {
      row = this.roots[0]
      for (const step of [...this.contexts.callers(context).slice(1), context]) {
        if (!row || step === 0) break
        this.open.add(row)
        const at = this.inOrder(row.children()).findIndex((one) => one.context === step)
        this.shown.set(row, Math.max(this.shown.get(row) ?? kAtATime, at + 1))
        row = row.children().find((one) => one.context === step)
      }
    } else {
      const ordered = this.inOrder(this.roots)
      const wanted = this.contexts.isFunction(context) ? context : this.contexts.caller(context)
      const at = ordered.findIndex((one) => one.contexts.includes(wanted))
      row = ordered[at]
      this.shown.set(null, Math.max(this.shown.get(null) ?? kAtATime, at + 1))
    }
    if (!row) return
    this.draw()
    this.select(row)
    this.elementOf.get(row)?.scrollIntoView({ block: 'nearest' })
  }

  private key(event: KeyboardEvent): void {
    const row = this.rowAt(event.target)
    if (!row || event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLButtonElement) return
    const line = this.elementOf.get(row)!
    const go = (to: Element | null | undefined) => {
      const next = to && this.rowOf.get(to)
      if (!next) return
      for (const other of this.body.querySelectorAll('tr[tabindex="0"]')) other.setAttribute('tabindex', '-1')
      to.setAttribute('tabindex', '0')
      ;(to as HTMLElement).focus()
    }
    const act: Record<string, () => void> = {
      ArrowDown: () => go(line.nextElementSibling),
      ArrowUp: () => go(line.previousElementSibling),
      ArrowRight: () => (row.folds && !this.open.has(row) ? this.toggle(row) : go(row.folds ? line.nextElementSibling : null)),
      ArrowLeft: () => (this.open.has(row) ? this.toggle(row) : go(row.parent && this.elementOf.get(row.parent))),
      Home: () => go(this.body.firstElementChild),
      End: () => go(this.body.lastElementChild),
      h: () => this.unfoldHot(row),
      Enter: () => {
        this.select(row)
        this.told(row)
      },
    }
    act[' '] = act.Enter!
    const what = act[event.key]
    if (!what) return
    event.preventDefault()
    what()
  }
}
