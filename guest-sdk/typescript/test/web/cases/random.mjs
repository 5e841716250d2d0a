// The global `crypto` without `subtle`, which only the full variant of the engine has.

const threw = (attempt) => {
  try {
    attempt();
  } catch (error) {
    return [error.name, error instanceof DOMException, error instanceof TypeError];
  }
  return "nothing";
};

export default {
  "getRandomValues fills every array of integers": () => {
    const arrays = [
      new Uint8Array(100), new Uint8ClampedArray(100), new Int8Array(100), new Uint16Array(100), new Int16Array(100), new Uint32Array(100),
      new Int32Array(100), new BigUint64Array(100), new BigInt64Array(100),
    ];
    return arrays.map((array) => crypto.getRandomValues(array) === array && new Set(array).size > 50);
  },
  "getRandomValues fills a view and no more": () => {
    const bytes = new Uint8Array(100);
    crypto.getRandomValues(bytes.subarray(20, 80));
    return [bytes.subarray(0, 20).every((byte) => byte === 0), bytes.subarray(20, 80).some((byte) => byte !== 0), bytes[80], bytes[99]];
  },
  "getRandomValues errors": () => [
    threw(() => crypto.getRandomValues(new Float32Array(4))),
    threw(() => crypto.getRandomValues(new Float64Array(4))),
    threw(() => crypto.getRandomValues(new DataView(new ArrayBuffer(4)))),
    threw(() => crypto.getRandomValues(new Uint8Array(65_537))),
    threw(() => crypto.getRandomValues(new Uint8Array(65_536)).slice(0, 0)),
    crypto.getRandomValues(new Uint8Array(0)).length,
  ],
  "randomUUID": () => {
    const ids = Array.from({ length: 50 }, () => crypto.randomUUID());
    return [new Set(ids).size, ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id))];
  },
};
