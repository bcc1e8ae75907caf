// d3-flame-graph has no types of its own: what of it is used here.
declare module 'd3-flame-graph' {
  export interface FlameNode {
    name: string
    value: number
    problem?: number
    context?: number
    kind?: string
    children?: FlameNode[]
  }
  export interface Placed {
    data: FlameNode
    value: number
    depth: number
    x0: number
    x1: number
    parent: Placed | null
    children?: Placed[]
  }
  export interface FlameChart {
    (selection: unknown): void
    width(pixels: number): FlameChart
    cellHeight(pixels: number): FlameChart
    inverted(on: boolean): FlameChart
    sort(order: (a: Placed, b: Placed) => number): FlameChart
    selfValue(on: boolean): FlameChart
    minFrameSize(pixels: number): FlameChart
    transitionDuration(ms: number): FlameChart
    setLabelHandler(label: (node: Placed) => string): FlameChart
    setColorMapper(color: (node: Placed, usual: string) => string): FlameChart
    onClick(act: (node: Placed) => void): FlameChart
    resetHeightOnZoom(on: boolean): FlameChart
    zoomTo(node: Placed): void
    resetZoom(): void
    update(tree?: FlameNode): void
  }
  export default function flamegraph(): FlameChart
}
