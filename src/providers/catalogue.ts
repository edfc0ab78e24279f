// What pi-ai's built-in catalogue knows about a provider's models: window, output limit, price, reasoning levels,
// vision, compatibility flags. One literal import per provider, so that the first request to Anthropic does not load
// OpenRouter's three hundred kilobytes.

import type { Model, Api as PiApi } from "@earendil-works/pi-ai";

export type CatalogueModel = Model<PiApi>;
type Catalogue = Record<string, CatalogueModel>;

/** Empty for providers without a catalogue. */
export async function loadCatalogue(kindId: string): Promise<Catalogue> {
  const load = LOADERS[kindId];
  return load === undefined ? {} : await load();
}

/** A model by id. An OpenAI-style id with a date (`gpt-x-2026-01-31`) falls back to the undated one. */
export async function findCatalogueModel(kindId: string, modelId: string): Promise<CatalogueModel | undefined> {
  const catalogue = await loadCatalogue(kindId);
  return catalogue[modelId] ?? catalogue[modelId.replace(/-\d{4}-\d{2}-\d{2}$/, "")];
}

const LOADERS: Record<string, () => Promise<Catalogue>> = {
  anthropic: async () => (await import("@earendil-works/pi-ai/providers/anthropic.models")).ANTHROPIC_MODELS,
  openai: async () => (await import("@earendil-works/pi-ai/providers/openai.models")).OPENAI_MODELS,
  google: async () => (await import("@earendil-works/pi-ai/providers/google.models")).GOOGLE_MODELS,
  openrouter: async () => (await import("@earendil-works/pi-ai/providers/openrouter.models")).OPENROUTER_MODELS,
  deepseek: async () => (await import("@earendil-works/pi-ai/providers/deepseek.models")).DEEPSEEK_MODELS,
  groq: async () => (await import("@earendil-works/pi-ai/providers/groq.models")).GROQ_MODELS,
  mistral: async () => (await import("@earendil-works/pi-ai/providers/mistral.models")).MISTRAL_MODELS,
  xai: async () => (await import("@earendil-works/pi-ai/providers/xai.models")).XAI_MODELS,
  together: async () => (await import("@earendil-works/pi-ai/providers/together.models")).TOGETHER_MODELS,
  fireworks: async () => (await import("@earendil-works/pi-ai/providers/fireworks.models")).FIREWORKS_MODELS,
  cerebras: async () => (await import("@earendil-works/pi-ai/providers/cerebras.models")).CEREBRAS_MODELS,
  zai: async () => (await import("@earendil-works/pi-ai/providers/zai.models")).ZAI_MODELS,
  "zai-coding": async () => (await import("@earendil-works/pi-ai/providers/zai.models")).ZAI_MODELS,
  moonshotai: async () => (await import("@earendil-works/pi-ai/providers/moonshotai.models")).MOONSHOTAI_MODELS,
  "kimi-coding": async () => (await import("@earendil-works/pi-ai/providers/kimi-coding.models")).KIMI_CODING_MODELS,
  minimax: async () => (await import("@earendil-works/pi-ai/providers/minimax.models")).MINIMAX_MODELS,
  huggingface: async () => (await import("@earendil-works/pi-ai/providers/huggingface.models")).HUGGINGFACE_MODELS,
  nvidia: async () => (await import("@earendil-works/pi-ai/providers/nvidia.models")).NVIDIA_MODELS,
  baseten: async () => (await import("@earendil-works/pi-ai/providers/baseten.models")).BASETEN_MODELS,
  "vercel-ai-gateway": async () =>
    (await import("@earendil-works/pi-ai/providers/vercel-ai-gateway.models")).VERCEL_AI_GATEWAY_MODELS,
  "amazon-bedrock": async () =>
    (await import("@earendil-works/pi-ai/providers/amazon-bedrock.models")).AMAZON_BEDROCK_MODELS,
};
