// Light and dark: as the system has it, until the reader chooses. The choice is for this page only; it is not stored.

const listeners: (() => void)[] = []
const system = matchMedia('(prefers-color-scheme: dark)')

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme
  return chosen ? chosen === 'dark' : system.matches
}

// Called after each change. Canvases have to be drawn again.
export function onTheme(listener: () => void): void {
  listeners.push(listener)
}

export function color(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
}

export function setUpTheme(): void {
  const button = document.getElementById('theme') as HTMLButtonElement
  const tell = () => {
    button.textContent = isDark() ? 'Light' : 'Dark'
    button.setAttribute('aria-label', isDark() ? 'Use light colours' : 'Use dark colours')
    for (const listener of listeners) listener()
  }
  button.hidden = false
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark'
    tell()
  })
  system.addEventListener('change', tell)
  tell()
}
