import { expect, test } from "bun:test";
import { Screen } from "@/frontends/repl/screen.ts";
import { FakeTerminal } from "./fake-terminal.ts";

function open(columns = 20, rows = 8) {
  const terminal = new FakeTerminal(columns, rows);
  const screen = new Screen(terminal);
  const paint = (lines: string[], row = lines.length - 1, column = 0): void =>
    screen.paint({ lines, cursor: { row, column } });
  return { terminal, screen, paint };
}

test("finished lines go above, the bottom is drawn again", () => {
  const { terminal, screen, paint } = open();
  paint(["busy", "> a"], 1, 3);
  screen.commit("done 1\ndone 2");
  paint(["busy", "> ab"], 1, 4);
  expect(terminal.screen()).toBe("done 1\ndone 2\nbusy\n> ab");
  expect(terminal.cursor()).toEqual({ row: 3, column: 4 });
});

test.each([
  [["a", "b", "c"], ["x"]],
  [["a"], ["x", "y", "z"]],
  [["a", "b"], ["a"]],
  [
    ["same", "> 1"],
    ["same", "> 2"],
  ],
])("from %j to %j nothing stays behind", (before, after) => {
  for (const row of before.keys()) {
    const { terminal, screen, paint } = open();
    screen.commit("top");
    paint(before, row, 1);
    paint(after, 0, 0);
    expect(terminal.screen()).toBe(["top", ...after].join("\n"));
    expect(terminal.cursor()).toEqual({ row: 1, column: 0 });
  }
});

test("a line as wide as the terminal does not break the next paint", () => {
  const { terminal, screen, paint } = open(10);
  screen.commit("x".repeat(25));
  paint(["y".repeat(30), "> "], 1, 2);
  paint(["z", "> "], 1, 2);
  expect(terminal.screen()).toBe(`${"x".repeat(10)}\n${"x".repeat(10)}\nxxxxx\nz\n>`);
});

test("unchanged lines are not written again", () => {
  const { terminal, paint } = open();
  paint(["status", "> a"], 1, 3);
  terminal.written = "";
  paint(["status", "> ab"], 1, 4);
  expect(terminal.written).not.toContain("status");
});

test("what does not fit keeps its end, where the input is", () => {
  const { terminal, paint } = open(20, 4);
  paint(["1", "2", "3", "4", "> x"], 4, 3);
  expect(terminal.screen()).toBe("3\n4\n> x");
  expect(terminal.cursor()).toEqual({ row: 2, column: 3 });
});

test("leaving removes the bottom and prints what waits", () => {
  const { terminal, screen, paint } = open();
  paint(["busy", "> "], 1, 2);
  screen.commit("bye");
  screen.leave();
  expect(terminal.screen()).toBe("bye");
});
