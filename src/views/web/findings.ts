// The list of findings: sorted by a column, filtered by words, all open or closed. They are in the page as plain
// <details>; without this script they are sorted by what they save.

const findings = () => [...document.querySelectorAll<HTMLDetailsElement>('#finding-list > details')]

// A list's rows have what they are sorted by as data; its head has a button for each column.
function setUpSorting(name: string): void {
  const buttons = [...document.querySelectorAll<HTMLButtonElement>(`#${name}-head button`)]
  const list = document.getElementById(`${name}-list`)
  for (const button of buttons)
    button.addEventListener('click', () => {
      const again = button.dataset.order === 'usual'
      for (const other of buttons) delete other.dataset.order
      button.dataset.order = again ? 'reversed' : 'usual'
      const key = button.dataset.column!
      const isNumber = button.classList.contains('number') || 'numeric' in button.dataset
      const sorted = [...list!.querySelectorAll<HTMLElement>(':scope > details')].sort((a, b) => {
        const [left, right] = [a.dataset[key] ?? '', b.dataset[key] ?? '']
        // Of figures the most first.
        return isNumber ? Number(right) - Number(left) : left.localeCompare(right, 'en', { numeric: true })
      })
      if (again) sorted.reverse()
      list!.append(...sorted)
      const status = document.getElementById(`${name}-status`)!
      status.textContent = `Sorted by ${button.textContent}${again ? ', reversed' : ''}`
    })
}

function setUpFilter(): void {
  const input = document.getElementById('filter') as HTMLInputElement
  input.addEventListener('input', () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
    let shown = 0
    for (const finding of findings()) {
      const text = finding.textContent!.toLowerCase()
      finding.hidden = !words.every((word) => text.includes(word))
      shown += finding.hidden ? 0 : 1
    }
    say(words.length > 0 ? `${shown} of ${findings().length} findings` : '')
  })
}

function say(text: string): void {
  document.getElementById('finding-status')!.textContent = text
}

// Opens a finding or needed wait, and goes there.
export function openElement(id: string): void {
  const element = document.getElementById(id)
  if (!element) return
  element.hidden = false
  if (element instanceof HTMLDetailsElement) element.open = true
  element.scrollIntoView({ block: 'start', behavior: 'auto' })
  const target = element.querySelector<HTMLElement>('summary') ?? element
  target.focus({ preventScroll: true })
}

// On paper nothing can be opened: all is, but the stacks, and those that were closed are closed again behind it.
function setUpPrinting(): void {
  let opened: HTMLDetailsElement[] = []
  addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll<HTMLDetailsElement>('.rows > details:not([open])')]
    for (const one of opened) one.open = true
  })
  addEventListener('afterprint', () => {
    for (const one of opened) one.open = false
  })
}

export function setUpFindings(): void {
  setUpPrinting()
  setUpSorting('work')
  if (findings().length === 0) return
  setUpSorting('finding')
  setUpFilter()
  const all = document.getElementById('open-all') as HTMLButtonElement
  all.addEventListener('click', () => {
    const open = findings().some((finding) => !finding.open)
    for (const finding of findings()) finding.open = open
    all.textContent = open ? 'Close all' : 'Open all'
  })
}
