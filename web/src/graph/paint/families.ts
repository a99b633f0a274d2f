/** Which family of ops an op is of; only a color at the edge of its box depends on it. */
import type { Family } from "./theme";

const PATTERNS: readonly [Family, RegExp][] = [
  ["flow", /^(_?If|While|Case|Switch|_Switch|Merge|Enter|Exit|NextIteration|LoopCond|.*PartitionedCall|NoOp|PLACEHOLDER|Assert|TensorArray|TensorList|Stack|CALL)/i],
  ["product", /(MatMul|Conv|Einsum|Fully_?Connected|LSTM|GRU|RNN|Dense|XlaDot|Attention)/i],
  ["normal", /(Norm|LRN|L2_NORM|Moments)/i],
  ["pool", /(Pool|^Mean|^Max$|^Min$|^Sum$|^Prod$|Arg_?Max|Arg_?Min|TopK|Reduce|^All$|^Any$|Cumsum|Segment)/i],
  ["activation", /(Relu|Sigmoid|Tanh|Softmax|Elu$|Selu|Gelu|Softplus|Swish|Mish|Logistic|Dropout|Activation)/i],
  ["shape", /(Reshape|Shape|Transpose|Concat|Slice|Gather|Pack|Unpack|Split|Squeeze|ExpandDims|Tile|Pad|Fill|Range|Rank|Size|Where|Cast|Identity|Reverse|Broadcast|Flatten|Permute|SpaceToBatch|BatchToSpace|DepthToSpace|OneHot|Scatter)/i],
  ["text", /(String|Lookup|HashTable|Table|Parse|Decode|Encode|Regex|Split|Tokenize|Vocab)/i],
  ["state", /(Variable|Assign|Restore|Save|Const|Read|MergeV2Checkpoints|ShardedFilename|Initialize)/i],
  ["math", /^(Add|AddV2|Sub|Mul|Div|RealDiv|Maximum|Minimum|Pow|Sqrt|Rsqrt|Square|Exp|Log|Neg|Abs|Floor|Ceil|Round|Sign|Sin|Cos|BiasAdd|Equal|NotEqual|Greater|Less|Logical|Select|Squared|Mod|FloorMod|FloorDiv|AddN|ADD|MUL|SUB|DIV|Reciprocal|Inv|Clip|Erf)/i],
];

const known = new Map<string, Family>();

export function familyOf(op: string): Family {
  let family = known.get(op);
  if (!family) {
    family = PATTERNS.find(([, pattern]) => pattern.test(op.slice(0, 80)))?.[0] ?? "other";
    if (known.size > 5000) known.clear();
    known.set(op, family);
  }
  return family;
}
