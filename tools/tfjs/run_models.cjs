// Run models in the real TensorFlow.js under Node: one JSON job per line of standard input, one answer per line.
//
//   node run_models.cjs FOLDER BACKEND      FOLDER has node_modules with @tensorflow/tfjs; BACKEND is cpu or wasm
//
// A job is {"model": "folder/model.json", "layers": false, "feeds": {name: tensor}, "fetches": [name, …]}; a tensor is
// {"dtype", "shape", "data"}, its elements as base64, of strings a list of base64. The answer has the outputs, the
// kernels that ran, or the error.
const fs = require('fs');
const path = require('path');
const readline = require('readline');
const {createRequire} = require('module');

const [folder, backend] = process.argv.slice(2);
const need = createRequire(path.resolve(folder, 'package.json'));
const tf = need('@tensorflow/tfjs');
const TYPES = {float32: Float32Array, int32: Int32Array, bool: Uint8Array};

function handler(file) {
  return {
    load: async () => {
      const model = JSON.parse(fs.readFileSync(file, 'utf8'));
      const manifest = model.weightsManifest || [];
      const parts = manifest.flatMap(g => g.paths).map(p => fs.readFileSync(path.join(path.dirname(file), p)));
      const whole = Buffer.concat(parts);
      return {...model, weightSpecs: manifest.flatMap(g => g.weights),
        weightData: whole.buffer.slice(whole.byteOffset, whole.byteOffset + whole.byteLength)};
    },
  };
}

function tensor(t) {
  if (t.dtype === 'string') {
    return tf.tensor(t.data.map(s => new Uint8Array(Buffer.from(s, 'base64'))), t.shape, 'string');
  }
  const raw = Buffer.from(t.data, 'base64');
  const bytes = raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.byteLength);
  if (t.dtype === 'complex64') {
    const both = new Float32Array(bytes);
    return tf.complex(tf.tensor(both.filter((_, i) => i % 2 === 0), t.shape),
      tf.tensor(both.filter((_, i) => i % 2 === 1), t.shape));
  }
  return tf.tensor(new TYPES[t.dtype](bytes), t.shape, t.dtype);
}

async function described(t) {
  if (t.dtype === 'string') {
    const data = await t.bytes();
    return {dtype: t.dtype, shape: t.shape, data: data.map(b => Buffer.from(b).toString('base64'))};
  }
  const data = (TYPES[t.dtype] || Float32Array).from(await t.data());  // a kernel may answer in another array
  return {dtype: t.dtype, shape: t.shape, data: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64')};
}

let kernels = new Set();
const engine = tf.engine();
const runKernel = engine.runKernel.bind(engine);
engine.runKernel = (name, ...rest) => { kernels.add(name); return runKernel(name, ...rest); };

let loaded = {};

async function modelOf(job) {  // the last one is kept
  if (loaded.path !== job.model) {
    if (loaded.model) loaded.model.dispose();
    loaded = {};
    const model = await (job.layers ? tf.loadLayersModel(handler(job.model)) : tf.loadGraphModel(handler(job.model)));
    loaded = {path: job.model, model};
  }
  return loaded.model;
}

async function answer(job) {
  const model = loaded.model;
  kernels = new Set();
  const feeds = Object.fromEntries(Object.entries(job.feeds).map(([name, t]) => [name, tensor(t)]));
  let out;
  if (job.layers) {
    const given = Object.values(feeds);
    const inputs = given.map((t, i) => feeds[(model.inputNames || [])[i]] || t);
    const all = [].concat(model.predict(inputs.length === 1 ? inputs[0] : inputs));
    out = job.fetches.map((name, i) => all[model.outputNames.indexOf(name)] || all[i]);
  } else {
    out = await model.executeAsync(feeds, job.fetches);
  }
  const outputs = await Promise.all((Array.isArray(out) ? out : [out]).map(described));
  return {outputs, kernels: [...kernels]};
}

async function main() {
  if (backend === 'wasm') {
    const wasm = need('@tensorflow/tfjs-backend-wasm');
    wasm.setWasmPaths(path.join(folder, 'node_modules/@tensorflow/tfjs-backend-wasm/dist/'));
  }
  await tf.setBackend(backend);
  await tf.ready();
  if (tf.getBackend() !== backend) throw new Error(`no backend ${backend}`);
  for await (const line of readline.createInterface({input: process.stdin})) {
    let result;
    const job = JSON.parse(line);
    try {
      await modelOf(job);
    } catch (error) {
      process.stdout.write(JSON.stringify({error: String(error && error.message || error), kernels: []}) + '\n');
      continue;
    }
    tf.engine().startScope();
    try {
      result = await answer(job);
    } catch (error) {
      result = {error: String(error && error.message || error), kernels: [...kernels]};
    }
    tf.engine().endScope();
    process.stdout.write(JSON.stringify(result) + '\n');
  }
}
main().catch(error => { console.error(error); process.exit(1); });
