// Images for a model. What is within the limits goes through untouched; larger ones are scaled by Bun's own codecs.

import type { ContentPart } from "@/backend/wire.ts";
import { systemReason, ToolError } from "@/lib/errors.ts";
import { IMAGE_MAX_PIXELS, IMAGE_MAX_SIDE, IMAGE_OUTPUT_BYTES } from "./limits.ts";

/** Media type by magic bytes, whatever the name says; undefined for what is no image. */
export function imageType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 16)).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  if (head.startsWith("RIFF") && head.slice(8, 12) === "WEBP") return "image/webp";
  if (head.slice(4, 8) === "ftyp" && /^(heic|heix|hevc|mif1|avif)/.test(head.slice(8))) return "image/heic";
  // `BM` alone is two letters of any text: the reserved bytes must be zero too.
  if (head.startsWith("BM\x00") || (head.startsWith("BM") && head.slice(6, 10) === "\0\0\0\0")) return "image/bmp";
  return undefined;
}

/** A line naming the image, then the image. Throws ToolError when it cannot be brought within the limits. */
export async function toImageParts(name: string, bytes: Uint8Array, type: string): Promise<ContentPart[]> {
  const { width, height } = await dimensions(name, bytes);
  const direct = type !== "image/bmp" && type !== "image/heic";
  const fits = Math.max(width, height) <= IMAGE_MAX_SIDE && bytes.length <= IMAGE_OUTPUT_BYTES;
  const image = direct && fits ? { bytes, type } : await shrink(name, bytes, type);
  const note = direct && fits ? "" : ", scaled down or converted";
  return [
    { type: "text", text: `[Image: ${name}, ${width}x${height}${note}]` },
    {
      type: "image",
      source: { type: "base64", media_type: image.type, data: Buffer.from(image.bytes).toString("base64") },
    },
  ];
}

async function dimensions(name: string, bytes: Uint8Array): Promise<{ width: number; height: number }> {
  try {
    return await new Bun.Image(bytes).metadata();
  } catch (error) {
    throw new ToolError(`The image cannot be read: ${name} (${systemReason(error)}).`, { cause: error });
  }
}

async function shrink(name: string, bytes: Uint8Array, type: string): Promise<{ bytes: Uint8Array; type: string }> {
  // Photographs lose nothing as JPEG; drawings and screenshots stay sharp as PNG where that is small enough.
  const attempts = [
    ...(type === "image/jpeg" ? [] : [{ scale: 1, quality: 0 }]),
    ...[85, 70, 55, 40].map((quality) => ({ scale: 1, quality })),
    ...[0.75, 0.5, 0.25].map((scale) => ({ scale, quality: 70 })),
  ];
  try {
    for (const { scale, quality } of attempts) {
      const side = Math.round(IMAGE_MAX_SIDE * scale);
      const image = new Bun.Image(bytes, { maxPixels: IMAGE_MAX_PIXELS });
      image.resize(side, side, { fit: "inside", withoutEnlargement: true });
      const result = await (quality === 0 ? image.png() : image.jpeg({ quality })).bytes();
      if (result.length <= IMAGE_OUTPUT_BYTES) {
        return { bytes: result, type: quality === 0 ? "image/png" : "image/jpeg" };
      }
    }
  } catch (error) {
    throw new ToolError(
      `The image is too large to send as it is and cannot be scaled here: ${name} (${systemReason(error)}). Convert it with Bash first.`,
      { cause: error },
    );
  }
  throw new ToolError(`The image is still too large after scaling: ${name}.`);
}
