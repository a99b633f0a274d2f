"""Shape rules of TensorFlow Text's ops: most return vectors of tokens, and the row splits of the texts."""

from __future__ import annotations

from tfport.graph.op_facts.rule import VECTOR, Dim, OpCall, Outputs, count, shape_rule


def _rows(call: OpCall) -> Dim:
    """The number of texts of the first input."""
    texts = call.shapes[0]
    return None if texts is None else count(texts)


def _splits(call: OpCall) -> tuple[Dim]:
    rows = _rows(call)
    return (None if rows is None else rows + 1,)


@shape_rule("NormalizeUTF8 CaseFoldUTF8 TFText>OffsetsToBoiseTags")
def as_texts(call: OpCall) -> Outputs:
    return [call.shapes[0]]


@shape_rule("SentencepieceIdToStringOp SentencepieceStringToIdOp FindSourceOffsets")
def as_values(call: OpCall) -> Outputs:
    return [call.shapes[1]]


@shape_rule("NormalizeUTF8WithOffsetsMap")
def texts_and_maps(call: OpCall) -> Outputs:
    return [call.shapes[0], call.shapes[0]]


@shape_rule("FastBertNormalize")
def texts_and_offsets(call: OpCall) -> Outputs:
    return [call.shapes[0], VECTOR, _splits(call)]


@shape_rule("RegexSplitWithOffsets")
def tokens_before_splits(call: OpCall) -> Outputs:
    return [VECTOR, VECTOR, VECTOR, _splits(call)]


@shape_rule(
    "TFText>WhitespaceTokenizeWithOffsetsV2 SplitMergeTokenizeWithOffsets TokenizerFromLogits "
    "TFText>ByteSplitWithOffsets"
)
def tokens_and_splits(call: OpCall) -> Outputs:
    return [VECTOR, _splits(call), VECTOR, VECTOR]


@shape_rule("FastWordpieceTokenizeWithOffsets")
def tokens_with_ids(call: OpCall) -> Outputs:
    return [VECTOR, VECTOR, _splits(call), VECTOR, VECTOR]


@shape_rule("PhraseTokenize")
def phrases(call: OpCall) -> Outputs:
    return [VECTOR, VECTOR, _splits(call)]


@shape_rule("WordpieceTokenizeWithOffsets SentencepieceTokenizeWithOffsetsOp TFText>BoiseTagsToOffsets")
def four_vectors(call: OpCall) -> Outputs:
    return [VECTOR] * 4


@shape_rule("SentencepieceTokenizeOp TFText>FastSentencepieceTokenize ConstrainedSequence")
def two_vectors(call: OpCall) -> Outputs:
    return [VECTOR, VECTOR]


@shape_rule(
    "SentencepieceDetokenizeOp TFText>FastSentencepieceDetokenize TFText>FastWordpieceDetokenize "
    "TFText>PhraseDetokenize"
)
def joined(call: OpCall) -> Outputs:
    return [VECTOR]


@shape_rule("SentencepieceVocabSizeOp SentencepieceOp SimpleMLCreateModelResource")
def sizes_and_handles(call: OpCall) -> Outputs:
    return [()]


@shape_rule("WhitespaceTokenizeWithOffsets UnicodeScriptTokenizeWithOffsets")
def tokens_of_points(call: OpCall) -> Outputs:
    return [VECTOR, VECTOR, VECTOR, VECTOR, call.shapes[1]]


@shape_rule("SentenceFragments SentenceFragmentsV2")
def sentence_fragments(call: OpCall) -> Outputs:
    return [VECTOR, VECTOR, VECTOR, VECTOR, call.shapes[0]]


@shape_rule("TFText>ByteSplitByOffsets")
def bytes_by_offsets(call: OpCall) -> Outputs:
    return [call.shapes[1], call.shapes[3]]


@shape_rule("TFText>Utf8Binarize")
def bits(call: OpCall) -> Outputs:
    return [(_rows(call), call.attr("word_length") * call.attr("bits_per_char"))]


@shape_rule("MaxSpanningTree")
def spanning_trees(call: OpCall) -> Outputs:
    scores = call.shapes[1]
    return [call.shapes[0], None if scores is None else scores[:2]]


@shape_rule("RougeL")
def rouge(call: OpCall) -> Outputs:
    splits = call.shapes[1]
    rows = splits[0] if splits else None
    return [(None if rows is None else max(rows - 1, 0),)] * 3


@shape_rule("TFText>RoundRobinTrim")
def trimmed(call: OpCall) -> Outputs:
    segments = (len(call.shapes) - 1) // 2
    return [*[VECTOR] * segments, *call.shapes[1 + segments :]]


@shape_rule("TFText>RoundRobinGenerateMasks")
def masks(call: OpCall) -> Outputs:
    return list(call.shapes[1 : 1 + (len(call.shapes) - 1) // 2])


@shape_rule("TFText>NgramsStringJoin")
def ngrams(call: OpCall) -> Outputs:
    values, *splits = call.shapes
    if splits:
        return [VECTOR, *splits]
    if not values:
        return [None]
    last = values[-1]
    return [(*values[:-1], None if last is None else max(0, last - call.attr("width") + 1))]
