// Figures as people read them, as src/views/shared/figures.h has them.

function threeDigits(value: number): string {
  if (value < 9.995) return value.toFixed(2)
  if (value < 99.95) return value.toFixed(1)
  return Math.round(value).toLocaleString('en-US')
}

export function secondsText(seconds: number): string {
  if (seconds < 0.5e-9) return '0 s'
  if (seconds < 999.5e-9) return `${Math.round(seconds * 1e9)} ns`
  if (seconds < 999.5e-6) return `${threeDigits(seconds * 1e6)} us`
  if (seconds < 0.9995) return `${threeDigits(seconds * 1e3)} ms`
  return `${threeDigits(seconds)} s`
}

// A point in time beside others that are `step` apart: as many digits as tell them from each other.
export function tickText(seconds: number, step: number): string {
  const [unit, name] = step >= 0.1 ? [1, 's'] : step >= 1e-4 ? [1e3, 'ms'] : [1e6, 'us']
  const digits = Math.max(0, -Math.floor(Math.log10(step * unit! + 1e-12)))
  return `${(seconds * unit!).toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })} ${name}`
}

export function countText(count: number): string {
  return count.toLocaleString('en-US')
}
