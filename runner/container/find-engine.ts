import type { CheckedImage, Engine, EngineKind } from './engine.ts'

/** Finds the engine that has the image. Throws ExecutorError. */
export async function findEngine(
  _choice: 'auto' | EngineKind,
  _image: string,
  _environment: { readonly [name: string]: string | undefined },
): Promise<{ engine: Engine; image: CheckedImage }> {
  throw new Error('not there yet')
}
