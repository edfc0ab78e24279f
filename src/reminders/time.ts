// The time as the model needs it: what people around it say, and the zone.

/** For example `Monday, 30 November 2026, 10:18 (Europe/Berlin, UTC+01:00)`. */
export function formatLocalTime(now: Date, timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone): string {
  const parts = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat("en-GB", { timeZone, ...options });
  const date = parts({ weekday: "long", day: "numeric", month: "long", year: "numeric" }).format(now);
  const time = parts({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(now);
  const offset = parts({ timeZoneName: "longOffset" })
    .formatToParts(now)
    .find(({ type }) => type === "timeZoneName")
    ?.value.replace("GMT", "UTC");
  return `${date}, ${time} (${timeZone}, ${offset ?? "UTC"})`;
}
