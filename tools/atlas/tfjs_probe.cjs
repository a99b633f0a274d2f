// Print the ops of a release's converter, the kernels of its backends, and the ops that answer a number where the input
// is NaN, as JSON: node tfjs_probe.cjs FOLDER
const fs = require('fs');
const path = require('path');
const {createRequire} = require('module');

const folder = path.resolve(process.argv[2]);
const need = createRequire(path.join(folder, 'package.json'));
const packages = path.join(folder, 'node_modules/@tensorflow');

function lists(dist) {
  const at = path.join(dist, 'operations/op_list');
  const ops = {};
  for (const name of fs.readdirSync(at).filter(name => name.endsWith('.js'))) {
    const text = fs.readFileSync(path.join(at, name), 'utf8').replace(/\/\/# sourceMappingURL.*/, '');
    const category = name.replace('.js', '');
    const array = text.slice(text.indexOf('['), text.lastIndexOf(']') + 1);
    for (const op of eval(array)) ops[op.tfOpName] = category;
  }
  return ops;
}

const log = console.log;
console.log = console.warn = () => {};
const tf = need('@tensorflow/tfjs');
const wasm = need('@tensorflow/tfjs-backend-wasm');
const kernels = {};
for (const backend of ['cpu', 'wasm', 'webgl']) {
  kernels[backend] = tf.getKernelsForBackend(backend).map(kernel => kernel.kernelName).sort();
}
const layers = Object.keys(tf.serialization.SerializationMap.getMap().classNameMap).sort();

async function losingNan() {
  const flat = tf.tensor(Array.from({length: 1024}, (_, i) => i % 3 ? NaN : i - 500));
  const image = flat.reshape([1, 32, 32, 1]);
  const matrix = flat.reshape([32, 32]);
  const ones = tf.ones([1024]);
  const answers = {
    AvgPool: () => tf.avgPool(image, 2, 2, 'same'), ClipByValue: () => tf.clipByValue(flat, -1, 1),
    Elu: () => tf.elu(flat), LeakyRelu: () => tf.leakyRelu(flat), Maximum: () => tf.maximum(ones, flat),
    Minimum: () => tf.minimum(ones, flat), Relu: () => tf.fused.matMul({a: matrix, b: tf.eye(32), activation: 'relu'}),
    Relu6: () => tf.relu6(flat),
    Sigmoid: () => tf.sigmoid(flat), Sign: () => tf.sign(flat), Softmax: () => tf.softmax(flat), Tanh: () => tf.tanh(flat),
  };
  const found = [];
  for (const [op, answer] of Object.entries(answers)) {
    try {
      if (!(await answer().data()).some(Number.isNaN)) found.push(op);
    } catch (error) {
      // a kernel is missing, which its own record says
    }
  }
  return found;
}

const numbersForNan = {};

function finish() {
  log(JSON.stringify({layers, ops: lists(path.join(packages, 'tfjs-converter/dist')), kernels, numbersForNan}));
  process.exit(0);
}

async function main() {
  for (const backend of ['cpu', 'wasm']) {
    if (backend === 'wasm') wasm.setWasmPaths(path.join(packages, 'tfjs-backend-wasm/dist/'));
    if (await tf.setBackend(backend)) numbersForNan[backend] = await losingNan();
  }
  finish();
}
process.on('unhandledRejection', finish);  // wasm of 2.8.6 does not start in this Node
main();
