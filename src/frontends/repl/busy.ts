// A conversation that another process is working in: what the person wants to do about it.

import type { Ui } from "./ui.ts";

export type BusyChoice = "wait" | "new" | "back";

export async function askBusy(ui: Ui): Promise<BusyChoice> {
  const answer = await ui.choose<BusyChoice>({
    title: [],
    items: [
      { value: "wait", label: "Wait, and send it then", keys: ["w"] },
      { value: "new", label: "Send it in a new conversation", keys: ["n"] },
      { value: "back", label: "Take it back", keys: ["b"] },
    ],
  });
  return answer?.values[0] ?? "back";
}
