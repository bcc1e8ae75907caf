// Calling contexts over CPU and GPU as three views of one tree: top-down, bottom-up, flat. In: the profile's columns.
// Out: rows that make their children when they are asked for, so that 20,000 contexts cost what is unfolded. It counts
// as src/views/shared/context_tree.h does. Nothing calls itself: a tree may be 256 deep.
import type { Profile } from './data'

export type Column = 'time' | 'cpu' | 'driver' | 'waited' | 'idle' | 'gpu' | 'recoverable' | 'gain' | 'count'
export type View = 'top-down' | 'bottom-up' | 'flat'

export const kKinds = ['root', 'frame', 'call', 'gpu', 'gpu-function', 'gpu-loop', 'gpu-line', 'rest'] as const

export interface Row {
  context: number // the one that it stands for; of several the first
  contexts: number[] // all of them
  depth: number
  parent: Row | null
  amount(column: Column): number // inclusive; bottom-up: of the function at the root, called in this way
  own(column: Column): number
  children(): Row[]
  folds: boolean // there are children
}

const kColumns: Column[] = ['time', 'cpu', 'driver', 'waited', 'idle', 'gpu', 'recoverable', 'gain', 'count']

type Figures = Record<Column, Float64Array>

export class Contexts {
  readonly size: number
  readonly kids: number[][]
  readonly own: Figures
  readonly inclusive: Figures
  private ofFunction: Figures // own, with loops and lines counted to the function, or kernel, that they lie in
  private functionOf: Int32Array // the same function, call or kernel
  private outermost: Uint8Array // no caller is the same function

  constructor(readonly profile: Profile) {
    const size = (this.size = profile.parent.length)
    const column = (values: number[]) => Float64Array.from(values)
    const cpu = column(profile.cpu)
    const driver = column(profile.driver)
    const waited = column(profile.waited)
    const time = cpu.map((own, i) => own + driver[i]! + waited[i]!)
    this.own = {
      time,
      cpu,
      driver,
      waited,
      idle: column(profile.idle),
      gpu: column(profile.gpu),
      recoverable: column(profile.recoverable),
      gain: column(profile.gain),
      count: column(profile.count),
    }
    this.inclusive = Object.fromEntries(kColumns.map((name) => [name, this.own[name].slice()])) as Figures
    this.kids = Array.from({ length: size }, () => [])
    for (let i = size - 1; i > 0; --i) for (const name of kColumns) this.inclusive[name][this.parent(i)]! += this.inclusive[name][i]!
    this.ofFunction = Object.fromEntries(kColumns.map((name) => [name, this.own[name].slice()])) as Figures
    for (let i = size - 1; i > 0; --i)
      if (!this.isFunction(i))
        for (const name of kColumns) {
          this.ofFunction[name][this.parent(i)]! += this.ofFunction[name][i]!
          this.ofFunction[name][i] = 0
        }
    for (let i = 1; i < size; ++i) this.kids[this.parent(i)]!.push(i)
    const numbers = new Map<string, number>()
    this.functionOf = Int32Array.from({ length: size }, (_, i) => {
      const isFunction = this.kind(i) === 'frame' || this.kind(i) === 'gpu-function' // of calls the place is where they are made
      const key = `${profile.kind[i]} ${profile.name[i]} ${isFunction ? profile.place[i] : ''}`
      if (!numbers.has(key)) numbers.set(key, numbers.size)
      return numbers.get(key)!
    })
    this.outermost = this.findOutermost(numbers.size)
  }

  parent(context: number): number {
    return Math.min(this.profile.parent[context]!, Math.max(context - 1, 0))
  }

  isFunction(context: number): boolean {
    return this.kind(context) !== 'gpu-loop' && this.kind(context) !== 'gpu-line'
  }

  // The function around it.
  caller(context: number): number {
    let at = this.parent(context)
    while (at !== 0 && !this.isFunction(at)) at = this.parent(at)
    return at
  }

  name(context: number): string {
    return this.profile.texts[this.profile.name[context]!] ?? ''
  }

  place(context: number): string {
    return this.profile.texts[this.profile.place[context]!] ?? ''
  }

  kind(context: number): (typeof kKinds)[number] {
    return kKinds[this.profile.kind[context]!] ?? 'frame'
  }

  // The contexts down to this one, without it.
  callers(context: number): number[] {
    const path = []
    for (let at = context; at > 0; ) path.push((at = this.parent(at)))
    return path.reverse()
  }

  rows(view: View): Row[] {
    if (this.size === 0) return []
    if (view === 'top-down') return [this.topDown(0, null)]
    const all = Array.from({ length: this.size - 1 }, (_, i) => ({ leaf: i + 1, at: i + 1 }))
    const functions = this.grouped(all.filter((one) => this.isFunction(one.at)))
    return functions.map((group) => (view === 'flat' ? this.flat(group) : this.bottomUp(group, null)))
  }

  private findOutermost(functions: number): Uint8Array {
    const active = new Int32Array(functions)
    const outermost = new Uint8Array(this.size)
    const open: number[] = this.size > 0 ? [0] : []
    while (open.length > 0) {
      const at = open.pop()!
      if (at < 0) {
        --active[this.functionOf[~at]!]!
        continue
      }
      if (active[this.functionOf[at]!]!++ === 0) outermost[at] = 1
      open.push(~at, ...this.kids[at]!)
    }
    return outermost
  }

  private topDown(context: number, parent: Row | null): Row {
    let made: Row[] | null = null
    const row: Row = {
      context,
      contexts: [context],
      depth: parent ? parent.depth + 1 : 0,
      parent,
      amount: (column) => this.inclusive[column][context]!,
      own: (column) => this.own[column][context]!,
      children: () => (made ??= this.kids[context]!.map((kid) => this.topDown(kid, row))),
      folds: this.kids[context]!.length > 0,
    }
    return row
  }

  private grouped(instances: { leaf: number; at: number }[]): { leaf: number; at: number }[][] {
    const groups = new Map<number, { leaf: number; at: number }[]>()
    for (const one of instances) {
      const key = this.functionOf[one.at]!
      const group = groups.get(key)
      if (group) group.push(one)
      else groups.set(key, [one])
    }
    return [...groups.values()]
  }

  private sum(figures: Float64Array, contexts: number[]): number {
    return contexts.reduce((sum, at) => sum + figures[at]!, 0)
  }

  private bottomUp(instances: { leaf: number; at: number }[], parent: Row | null): Row {
    const leaves = instances.map((one) => one.leaf)
    const known = new Map<Column, number>()
    const amount = (column: Column) => {
      if (!known.has(column)) known.set(column, this.sum(this.ofFunction[column], leaves))
      return known.get(column)!
    }
    const called = instances.filter((one) => this.caller(one.at) !== 0)
    let made: Row[] | null = null
    const row: Row = {
      context: instances[0]!.at,
      contexts: instances.map((one) => one.at),
      depth: parent ? parent.depth + 1 : 0,
      parent,
      amount,
      own: amount,
      children: () =>
        (made ??= this.grouped(called.map((one) => ({ leaf: one.leaf, at: this.caller(one.at) }))).map((group) =>
          this.bottomUp(group, row),
        )),
      folds: called.length > 0,
    }
    return row
  }

  private flat(instances: { at: number }[]): Row {
    const contexts = instances.map((one) => one.at)
    const outermost = contexts.filter((at) => this.outermost[at])
    const inclusive = new Map(kColumns.map((column) => [column, this.sum(this.inclusive[column], outermost)]))
    const own = new Map(kColumns.map((column) => [column, this.sum(this.ofFunction[column], contexts)]))
    return {
      context: contexts[0]!,
      contexts,
      depth: 0,
      parent: null,
      amount: (column) => inclusive.get(column)!,
      own: (column) => own.get(column)!,
      children: () => [],
      folds: false,
    }
  }
}

// From a row down, for as long as one child has at least half of what its parent has.
export function hotPath(from: Row, column: Column): Row[] {
  const path = [from]
  for (let at = from; ; ) {
    const most = at.children().reduce<Row | null>((a, b) => (a && a.amount(column) >= b.amount(column) ? a : b), null)
    if (!most || most.amount(column) <= 0 || most.amount(column) < at.amount(column) / 2) return path
    path.push((at = most))
  }
}
