// The providers we know, as data: which protocol they speak, where their key and address come from, what they are
// called in handles and in older credential files. Adding a provider is one row here, plus one line in
// `catalogue.ts` when pi-ai ships a model list for it. Order is preference: the first connected kind is the default.

export type Api =
  | "anthropic-messages"
  | "openai-responses"
  | "openai-completions"
  | "google-generative-ai"
  | "mistral-conversations"
  | "bedrock-converse-stream";

/** How the endpoint tells which models it has. `catalogue`: it does not; the built-in list is all we know. */
export type Listing = "anthropic" | "openai" | "gemini" | "ollama" | "lmstudio" | "llama-cpp" | "catalogue";

export interface ProviderKind {
  id: string;
  label: string;
  /** Other names in handles, on the command line and in credential records. */
  aliases: string[];
  /** Environment variables holding the key, first wins. */
  keyVars: string[];
  baseUrlVars: string[];
  /** Null: the user has to name it. */
  baseUrl: string | null;
  /** What a base URL without any version segment gets appended; "" for protocols whose client adds the path itself. */
  versionPath: "/v1" | "/v1beta" | "";
  api: Api;
  listing: Listing;
  /** Runs on the user's machine or network: no key needed, may be switched off at any time. */
  local: boolean;
  defaultModel: string | null;
}

const OPENAI_STYLE = {
  aliases: [] as string[],
  baseUrlVars: [] as string[],
  versionPath: "/v1",
  api: "openai-completions",
  listing: "openai",
  local: false,
  defaultModel: null,
} as const;

export const PROVIDER_KINDS: readonly ProviderKind[] = [
  {
    id: "anthropic",
    label: "Anthropic",
    aliases: ["claude"],
    keyVars: ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    baseUrlVars: ["ANTHROPIC_BASE_URL"],
    baseUrl: "https://api.anthropic.com",
    versionPath: "",
    api: "anthropic-messages",
    listing: "anthropic",
    local: false,
    defaultModel: "claude-sonnet-5-5",
  },
  {
    ...OPENAI_STYLE,
    id: "openai",
    label: "OpenAI",
    aliases: ["openai-responses"],
    keyVars: ["OPENAI_API_KEY"],
    baseUrlVars: ["OPENAI_BASE_URL"],
    baseUrl: "https://api.openai.com/v1",
    api: "openai-responses",
    defaultModel: "gpt-6.1-sol",
  },
  {
    id: "google",
    label: "Google Gemini",
    aliases: ["gemini", "google_ai", "google-ai"],
    keyVars: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
    baseUrlVars: ["GOOGLE_GEMINI_BASE_URL", "GOOGLE_GENERATIVE_AI_BASE_URL"],
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    versionPath: "/v1beta",
    api: "google-generative-ai",
    listing: "gemini",
    local: false,
    defaultModel: "gemini-pro-latest",
  },
  {
    ...OPENAI_STYLE,
    id: "openrouter",
    label: "OpenRouter",
    keyVars: ["OPENROUTER_API_KEY"],
    baseUrlVars: ["OPENROUTER_BASE_URL"],
    baseUrl: "https://openrouter.ai/api/v1",
    defaultModel: "anthropic/claude-sonnet-5.5",
  },
  {
    ...OPENAI_STYLE,
    id: "deepseek",
    label: "DeepSeek",
    keyVars: ["DEEPSEEK_API_KEY"],
    baseUrl: "https://api.deepseek.com",
    defaultModel: "deepseek-v4-pro",
  },
  {
    ...OPENAI_STYLE,
    id: "groq",
    label: "Groq",
    keyVars: ["GROQ_API_KEY"],
    baseUrl: "https://api.groq.com/openai/v1",
    defaultModel: "openai/gpt-oss-120b",
  },
  {
    ...OPENAI_STYLE,
    id: "mistral",
    label: "Mistral",
    keyVars: ["MISTRAL_API_KEY"],
    baseUrl: "https://api.mistral.ai",
    defaultModel: "devstral-latest",
    versionPath: "",
    api: "mistral-conversations",
  },
  {
    ...OPENAI_STYLE,
    id: "xai",
    label: "xAI",
    aliases: ["grok"],
    keyVars: ["XAI_API_KEY"],
    baseUrl: "https://api.x.ai/v1",
    defaultModel: "grok-4.7",
    api: "openai-responses",
  },
  {
    ...OPENAI_STYLE,
    id: "together",
    label: "Together",
    keyVars: ["TOGETHER_API_KEY"],
    baseUrl: "https://api.together.ai/v1",
    defaultModel: "moonshotai/Kimi-K3",
  },
  {
    ...OPENAI_STYLE,
    id: "fireworks",
    label: "Fireworks",
    keyVars: ["FIREWORKS_API_KEY"],
    baseUrl: "https://api.fireworks.ai/inference/v1",
    defaultModel: "accounts/fireworks/models/kimi-k3",
  },
  {
    ...OPENAI_STYLE,
    id: "cerebras",
    label: "Cerebras",
    keyVars: ["CEREBRAS_API_KEY"],
    baseUrl: "https://api.cerebras.ai/v1",
    defaultModel: "gpt-oss-120b",
  },
  {
    ...OPENAI_STYLE,
    id: "zai",
    label: "Z.ai",
    keyVars: ["ZAI_API_KEY", "ZHIPU_API_KEY"],
    baseUrlVars: ["ZAI_BASE_URL"],
    baseUrl: "https://api.z.ai/api/paas/v4",
    defaultModel: "glm-5.3",
  },
  {
    ...OPENAI_STYLE,
    id: "zai-coding",
    label: "Z.ai coding plan",
    aliases: ["zai_coding"],
    keyVars: ["ZAI_CODING_API_KEY"],
    baseUrlVars: ["ZAI_CODING_BASE_URL"],
    baseUrl: "https://api.z.ai/api/coding/paas/v4",
    defaultModel: "glm-5.3",
  },
  {
    ...OPENAI_STYLE,
    id: "moonshotai",
    label: "Moonshot AI",
    aliases: ["moonshot"],
    keyVars: ["MOONSHOT_API_KEY"],
    baseUrlVars: ["MOONSHOT_BASE_URL"],
    baseUrl: "https://api.moonshot.ai/v1",
    defaultModel: "kimi-k3",
  },
  {
    ...OPENAI_STYLE,
    id: "kimi-coding",
    label: "Kimi for Coding",
    aliases: ["kimi-code", "moonshot_coding"],
    keyVars: ["KIMI_API_KEY"],
    baseUrl: "https://api.kimi.com/coding/v1",
    defaultModel: "kimi-for-coding",
  },
  {
    ...OPENAI_STYLE,
    id: "minimax",
    label: "MiniMax",
    keyVars: ["MINIMAX_API_KEY"],
    baseUrlVars: ["MINIMAX_BASE_URL"],
    baseUrl: "https://api.minimax.io/anthropic",
    defaultModel: "MiniMax-M3",
    versionPath: "",
    api: "anthropic-messages",
    listing: "catalogue",
  },
  {
    ...OPENAI_STYLE,
    id: "huggingface",
    label: "Hugging Face",
    keyVars: ["HF_TOKEN"],
    baseUrl: "https://router.huggingface.co/v1",
  },
  {
    ...OPENAI_STYLE,
    id: "nvidia",
    label: "NVIDIA",
    keyVars: ["NVIDIA_API_KEY"],
    baseUrl: "https://integrate.api.nvidia.com/v1",
  },
  {
    ...OPENAI_STYLE,
    id: "baseten",
    label: "Baseten",
    keyVars: ["BASETEN_API_KEY"],
    baseUrl: "https://inference.baseten.co/v1",
  },
  {
    ...OPENAI_STYLE,
    id: "vercel-ai-gateway",
    label: "Vercel AI Gateway",
    keyVars: ["AI_GATEWAY_API_KEY"],
    baseUrl: "https://ai-gateway.vercel.sh",
    versionPath: "",
    api: "anthropic-messages",
    listing: "catalogue",
  },
  {
    id: "amazon-bedrock",
    label: "Amazon Bedrock",
    aliases: ["bedrock"],
    keyVars: ["AWS_BEARER_TOKEN_BEDROCK"],
    baseUrlVars: ["AWS_ENDPOINT_URL_BEDROCK_RUNTIME"],
    baseUrl: "",
    versionPath: "",
    api: "bedrock-converse-stream",
    listing: "catalogue",
    local: false,
    defaultModel: "global.anthropic.claude-sonnet-5-5",
  },
  {
    ...OPENAI_STYLE,
    id: "ollama-cloud",
    label: "Ollama Cloud",
    keyVars: ["OLLAMA_API_KEY"],
    baseUrlVars: ["OLLAMA_CLOUD_BASE_URL"],
    baseUrl: "https://ollama.com/v1",
  },
  {
    ...OPENAI_STYLE,
    id: "openai-compatible",
    label: "OpenAI-compatible endpoint",
    aliases: ["custom"],
    keyVars: [],
    baseUrl: null,
    local: true,
  },
  {
    ...OPENAI_STYLE,
    id: "ollama",
    label: "Ollama",
    keyVars: ["OLLAMA_LOCAL_API_KEY"],
    baseUrlVars: ["OLLAMA_BASE_URL"],
    baseUrl: "http://127.0.0.1:11434/v1",
    listing: "ollama",
    local: true,
  },
  {
    ...OPENAI_STYLE,
    id: "lmstudio",
    label: "LM Studio",
    aliases: ["lm-studio"],
    keyVars: ["LMSTUDIO_API_KEY"],
    baseUrlVars: ["LMSTUDIO_BASE_URL"],
    baseUrl: "http://127.0.0.1:1234/v1",
    listing: "lmstudio",
    local: true,
  },
  {
    ...OPENAI_STYLE,
    id: "llama-cpp",
    label: "llama.cpp",
    aliases: ["llama.cpp", "llamacpp"],
    keyVars: ["LLAMA_CPP_API_KEY"],
    baseUrlVars: ["LLAMA_CPP_BASE_URL", "LLAMACPP_BASE_URL"],
    baseUrl: "http://127.0.0.1:8080/v1",
    listing: "llama-cpp",
    local: true,
  },
  {
    ...OPENAI_STYLE,
    id: "vllm",
    label: "vLLM",
    keyVars: ["VLLM_API_KEY"],
    baseUrlVars: ["VLLM_BASE_URL"],
    baseUrl: "http://127.0.0.1:8000/v1",
    local: true,
  },
];

/** By id or any other name, case-insensitively; a leading `lc-` of older record names does not matter. */
export function findKind(name: string): ProviderKind | undefined {
  const wanted = stripLegacyPrefix(name.toLowerCase());
  return PROVIDER_KINDS.find((kind) => kind.id === wanted || kind.aliases.includes(wanted));
}

/** Older clients stored records as `lc-anthropic`; handles never carried that prefix. */
export function stripLegacyPrefix(recordName: string): string {
  return recordName.startsWith("lc-") ? recordName.slice(3) : recordName;
}

/** A user's base URL in the form this kind's client expects, whether or not it was typed with the version segment. */
export function normaliseBaseUrl(kind: ProviderKind, typed: string): string {
  const withScheme = /^[a-z]+:\/\//i.test(typed) ? typed : `http://${typed}`;
  const url = withScheme.replace(/\/+$/, "");
  const hasVersion = /\/v\d+(beta|alpha)?\d*(\/|$)/.test(new URL(url).pathname);
  if (kind.versionPath === "") return url.replace(/\/v1$/, "");
  return hasVersion ? url : url + kind.versionPath;
}
