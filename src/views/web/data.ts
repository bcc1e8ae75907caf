// What the report gives the page's script (src/views/html/html_data.cc writes it, as JSON in the page).

export interface Problem {
  id: string
  phrase: string
  where: string
  saves: string // as people read it
  finding: string // id of its element
}

export interface Required {
  id: string
  call: string
  element: string
}

export interface FlameStack {
  frames: string[] // from the outside in
  us: number
  problem: number
}

// Calling contexts as columns. Times are whole nanoseconds.
export interface Profile {
  texts: string[]
  work_shown: number // kernels and copies that have an element
  parent: number[]
  kind: number[] // position in kKinds (contexts.ts)
  name: number[] // position in texts
  place: number[]
  why: number[] // inside kernels: what warps mostly do there; position in texts
  called: number[] // line of the caller; 0: not known
  own: boolean[] // of the application
  count: number[]
  cpu: number[]
  driver: number[]
  waited: number[]
  idle: number[] // of cpu, driver and waited: meanwhile the GPU had nothing to do
  gpu: number[]
  recoverable: number[]
  gain: number[] // if it takes half as long
  most_gain: number[]
  threads: number[]
  work: number[] // position in the list of GPU work; -1: none
  cpu_ranks?: [number, string, string][] // context, least, most
  gpu_ranks?: [number, string, string][]
}

interface RawLane {
  kind: 'thread' | 'stream'
  process: number
  name: string
  events: number
  begin: number[] // each since the one before it began
  length: number[]
  busy: number[] // of several in one: what they took; else 0
  waited: number[]
  count: number[]
  what: number[] // position in names
  mark: number[] // problem + 1, -(needed wait + 1), or 0
}

interface RawTimeline {
  unit_ns: number
  duration: number
  names: string[]
  processes: string[]
  gpu_times: boolean
  events: number
  merged: number
  merged_below: number
  full: number[] // begins of stretches in which each event is by itself
  full_length: number
  lanes: RawLane[]
}

interface RawData {
  problems: Problem[]
  required: Required[]
  flame: FlameStack[]
  profile: Profile | null
  timeline: RawTimeline | null
}

// Times in seconds, as columns: objects would take ten times the memory and the time to make them.
export interface Lane {
  kind: 'thread' | 'stream'
  process: string
  name: string
  events: number
  begin: Float64Array
  end: Float64Array
  ended: Float64Array // the latest end so far: ascending
  busy: Float64Array
  waited: Float64Array
  count: number[]
  what: number[]
  mark: Int32Array
}

export interface Timeline {
  duration: number
  names: string[]
  gpuTimes: boolean
  events: number
  merged: number
  full: { begin: number; end: number }[]
  processes: number
  lanes: Lane[]
}

export interface Data {
  problems: Problem[]
  required: Required[]
  flame: FlameStack[]
  profile: Profile | null
  timeline: Timeline | null
}

function laneOf(raw: RawLane, processes: string[], second: number): Lane {
  const size = raw.begin.length
  const lane: Lane = {
    kind: raw.kind,
    process: processes[raw.process] ?? '',
    name: raw.name,
    events: raw.events,
    begin: new Float64Array(size),
    end: new Float64Array(size),
    ended: new Float64Array(size),
    busy: new Float64Array(size),
    waited: Float64Array.from(raw.waited, (units) => units * second),
    count: raw.count,
    what: raw.what,
    mark: Int32Array.from(raw.mark),
  }
  let begin = 0
  let ended = 0
  for (let i = 0; i < size; ++i) {
    begin += raw.begin[i]!
    const length = raw.length[i]!
    ended = Math.max(ended, begin + length)
    lane.begin[i] = begin * second
    lane.end[i] = (begin + length) * second
    lane.ended[i] = ended * second
    lane.busy[i] = (raw.busy[i]! || length) * second
  }
  return lane
}

export function readData(): Data {
  const raw = JSON.parse(document.getElementById('data')!.textContent!) as RawData
  if (raw.profile && !raw.profile.parent) raw.profile = null // no contexts
  const timeline = raw.timeline
  if (!timeline) return { ...raw, timeline: null }
  const second = timeline.unit_ns * 1e-9
  return {
    ...raw,
    timeline: {
      duration: timeline.duration * second,
      names: timeline.names,
      gpuTimes: timeline.gpu_times,
      events: timeline.events,
      merged: timeline.merged,
      full: timeline.full.map((begin) => ({
        begin: begin * second,
        end: (begin + timeline.full_length) * second,
      })),
      processes: timeline.processes.length,
      lanes: timeline.lanes.map((lane) => laneOf(lane, timeline.processes, second)),
    },
  }
}
