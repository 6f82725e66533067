// Undoes encode.pack: base64, deflate, byte planes, differences of bit patterns along time. Bit for bit.

async function unpackBlock(block) {
  const text = atob(block.data);
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const n = block.length;
  const words = new Uint32Array(n);
  for (let i = 0; i < n; i++) {
    words[i] = planes[i] | (planes[n + i] << 8) | (planes[2 * n + i] << 16) | (planes[3 * n + i] << 24);
  }
  const floats = new Float32Array(words.buffer);
  const arrays = {};
  for (const [name, { at, shape }] of Object.entries(block.parts)) {
    const size = shape.reduce((a, b) => a * b, 1);
    const width = shape[0] ? size / shape[0] : 0;
    for (let i = at + width; i < at + size; i++) words[i] += words[i - width];
    arrays[name] = { shape, values: floats.subarray(at, at + size), width };
  }
  return arrays;
}
