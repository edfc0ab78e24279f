// The sets of tools, one per family of models: models work best with the tools they were trained on. Membership and
// names are facts of the tools themselves (`ToolSpec.toolsets`); here is only which set a request gets.

export const TOOLSETS = ["default", "codex", "codex_snake", "gemini", "gemini_snake", "none"] as const;
export type ToolsetId = (typeof TOOLSETS)[number];

/** What a person can choose. `auto` goes by the model. */
export const TOOLSET_CHOICES = ["auto", ...TOOLSETS] as const;
export type ToolsetChoice = (typeof TOOLSET_CHOICES)[number];

/** The name a tool has in each set it belongs to. `none` has no members. */
export type ToolsetNames = Partial<Record<Exclude<ToolsetId, "none">, string>>;

/** Undefined for what is no choice, such as a name a newer version wrote into the settings. */
export function findToolsetChoice(text: string | undefined): ToolsetChoice | undefined {
  return TOOLSET_CHOICES.find((choice) => choice === text);
}

/** What one request wants of its tools, beside what is set for the process and the conversation. */
export interface ToolsWish {
  toolset?: ToolsetChoice;
  /** Offered beside the set's own; names of any set. */
  include?: string[];
  /** Only these are offered, whatever set they are of; empty = none. */
  only?: string[];
  /** None that asks a person. */
  withoutQuestions?: boolean;
}

/** Choices by precedence, strongest first; the first one given counts, and `auto` leaves it to the model. */
export function resolveToolset(model: string | null, choices: readonly (ToolsetChoice | undefined)[]): ToolsetId {
  const choice = choices.find((each) => each !== undefined) ?? "auto";
  if (choice !== "auto") return choice;
  return model !== null && CODEX_MODELS.test(model) ? "codex" : "default";
}

/** Handles of connections whose models are trained on the Codex tools. */
const CODEX_MODELS = /^(?:openai|openai-codex|chatgpt-plus-pro|chatgpt_oauth)\//;
