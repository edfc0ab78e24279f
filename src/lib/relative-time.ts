// Times for people, relative to now.

const UNITS: [limitMs: number, unitMs: number, name: string][] = [
  [3_600_000, 60_000, "min"],
  [86_400_000, 3_600_000, "h"],
  [30 * 86_400_000, 86_400_000, "d"],
];

/** `now`, `5 min ago`, `3 h ago`, `12 d ago`, then the date. "" for null. */
export function formatAge(iso: string | null | undefined, now: number): string {
  if (!iso) return "";
  const age = now - Date.parse(iso);
  if (Number.isNaN(age)) return iso;
  if (age < 60_000) return "now";
  for (const [limitMs, unitMs, name] of UNITS) {
    if (age < limitMs) return `${Math.floor(age / unitMs)} ${name} ago`;
  }
  return iso.slice(0, 10);
}
