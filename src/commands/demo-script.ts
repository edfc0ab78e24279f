// The story `letta demo` plays: a project with one bug, and what the stand-in model says and does about it. Only the
// model's words are fixed; files, commands, approval and results are real, and the script reacts to them.

import type { ModelMessage, ModelRequest, ModelText } from "@/backend/model.ts";
import type { ScriptedStep } from "@/providers/scripted.ts";

export const DEMO_FILES: Record<string, string> = {
  "price.sh": `#!/bin/sh
# Prints a price with 20 % tax: sh price.sh 100
echo $(($1 * 12 / 100))
`,
  "test.sh": `#!/bin/sh
# A price of 100 is 120 with tax.
got=$(sh price.sh 100)
if [ "$got" = 120 ]; then
  echo "ok: 100 becomes 120"
else
  echo "not ok: expected 120, got $got"
  exit 1
fi
`,
};

export const DEMO_PROMPT = "The test fails. Find out why, fix it, and run the test.";

export const DEMO_STEPS: (ScriptedStep | ((request: ModelRequest) => ScriptedStep))[] = [
  {
    text: "I'll read the test and the program it checks.",
    tools: [
      { name: "Read", args: { file_path: "test.sh" } },
      { name: "Read", args: { file_path: "price.sh" } },
    ],
  },
  {
    text: "`price.sh` multiplies by **12** where a price with 20 % tax needs **120**. I'll change that one number.",
    tools: [
      { name: "Edit", args: { file_path: "price.sh", old_string: "$1 * 12 / 100", new_string: "$1 * 120 / 100" } },
    ],
  },
  {
    text: "Now the test. It is a command, so I need your approval.",
    tools: [{ name: "Bash", args: { command: "sh test.sh", description: "Run the project's test" } }],
  },
  (request) => ({
    text: `${verdict(lastToolText(request.messages))} I'll keep in memory what will matter next time.`,
    tools: [
      {
        name: "memory",
        args: {
          command: "create",
          reason: "how the price project is tested, for next time",
          file_path: "reference/price-project",
          description: "How the price project works and is tested",
          file_text: "`sh test.sh` checks `price.sh`, which adds 20 % tax: 100 becomes 120.",
        },
      },
    ],
  }),
  (request) => ({ text: remembered(lastToolText(request.messages)) }),
];

function remembered(output: string): string {
  if (output.includes("committed")) return "Done, and noted: in any later conversation I know how this is tested.";
  return "Done. The note could not be written, so I will have to find out again next time.";
}

function verdict(output: string): string {
  if (output.includes("ok: 100 becomes 120")) return "Fixed: the test passes. One number was wrong, in `price.sh`.";
  if (output.includes("not ok")) return "The test still fails, so the number was not the whole story.";
  return "I could not run the test, so the fix in `price.sh` is made but not proven.";
}

function lastToolText(messages: ModelMessage[]): string {
  const last = messages.findLast((message) => message.role === "toolResult");
  const texts = last?.content.filter((part): part is ModelText => part.type === "text") ?? [];
  return texts.map(({ text }) => text).join("\n");
}
