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
