// Looks of line mode: colours and symbols. With NO_COLOR everything still says what it is, by symbol and by word.

import { createColors } from "picocolors";

export interface Theme {
  colors: boolean;
  dim(text: string): string;
  bold(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
  inverse(text: string): string;
}

export const SYMBOLS = {
  ok: "•",
  error: "✗",
  warning: "!",
  denied: "–",
  pending: "◦",
  result: "└",
  spinner: ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
} as const;

export function createTheme(colors: boolean): Theme {
  const paint = createColors(colors);
  return {
    colors,
    dim: paint.dim,
    bold: paint.bold,
    red: paint.red,
    green: paint.green,
    yellow: paint.yellow,
    cyan: paint.cyan,
    inverse: paint.inverse,
  };
}

/** `850ms`, `3.2s`, `2m 05s`, `1h 04m`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  const seconds = Math.floor(ms / 1000);
  if (seconds < 60) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
  return `${Math.floor(seconds / 3600)}h ${String(Math.floor((seconds % 3600) / 60)).padStart(2, "0")}m`;
}

/** `950`, `1.2k`, `45k`, `1.3M`. */
export function formatCount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${(count / 1000).toFixed(count < 9950 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}
