import type { ModelAdapter } from "./model.ts";

/** An adapter whose providers are loaded with the first request, not with the first prompt. A load that failed is tried
 *  again by the next request. */
export function lazyAdapter(load: () => Promise<ModelAdapter>): ModelAdapter {
  let loading: Promise<ModelAdapter> | null = null;
  const loaded = (): Promise<ModelAdapter> => {
    loading ??= load().catch((error: unknown) => {
      loading = null;
      throw error;
    });
    return loading;
  };
  return {
    async *stream(request, signal) {
      yield* (await loaded()).stream(request, signal);
    },
    listModels: async () => (await loaded()).listModels(),
    resolveModel: async (handle) => (await loaded()).resolveModel(handle),
    defaultModel: async () => (await loaded()).defaultModel(),
  };
}
