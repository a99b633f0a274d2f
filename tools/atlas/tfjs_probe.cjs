// Print the ops of a release's converter and the kernels of its backends as JSON: node tfjs_probe.cjs FOLDER
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
need('@tensorflow/tfjs-backend-wasm');
const kernels = {};
for (const backend of ['cpu', 'wasm', 'webgl']) {
  kernels[backend] = tf.getKernelsForBackend(backend).map(kernel => kernel.kernelName).sort();
}
const layers = Object.keys(tf.serialization.SerializationMap.getMap().classNameMap).sort();
log(JSON.stringify({layers, ops: lists(path.join(packages, 'tfjs-converter/dist')), kernels}));
