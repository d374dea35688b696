"""Kinds of ONNX operators by what they ask of a machine."""

from collections.abc import Mapping
from types import MappingProxyType

KINDS = (
    "conv",
    "matmul",
    "attention",
    "elementwise",
    "normalisation",
    "reduction",
    "reshape",
    "recurrent",
    "other",
)

_OPERATORS = {
    "conv": "Conv ConvTranspose ConvInteger QLinearConv DeformConv",
    "matmul": "MatMul Gemm MatMulInteger QLinearMatMul Einsum FusedMatMul",
    "attention": "Softmax LogSoftmax Attention MultiHeadAttention GroupQueryAttention RotaryEmbedding",
    "elementwise": """
        Abs Add And BitwiseAnd BitwiseOr Cast CastLike Ceil Clip Cos DequantizeLinear Div Elu Equal Erf Exp
        FastGelu Floor Gelu Greater GreaterOrEqual HardSigmoid HardSwish LeakyRelu Less LessOrEqual Log Max
        Mean Min Mish Mod Mul Neg Not Or PRelu Pow QuantizeLinear Reciprocal Relu Round Selu Sigmoid Sign Sin
        Softplus Softsign Sqrt Sub Sum Swish Tanh ThresholdedRelu Where Xor
    """,
    "normalisation": """BatchNormalization GroupNormalization InstanceNormalization LayerNormalization LpNormalization
        LRN MeanVarianceNormalization RMSNormalization SimplifiedLayerNormalization SkipLayerNormalization""",
    "reduction": """ArgMax ArgMin AveragePool CumSum GlobalAveragePool GlobalMaxPool LpPool MaxPool ReduceL1 ReduceL2
        ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare TopK""",
    "reshape": """Compress Concat DepthToSpace Expand Flatten Gather GatherElements GatherND Identity OneHot Pad Reshape
        Resize ScatterElements ScatterND Shape Slice SpaceToDepth Split Squeeze Tile Transpose Unsqueeze Upsample""",
    "recurrent": "GRU LSTM RNN",
}

KIND_OF: Mapping[str, str] = MappingProxyType(
    {name: kind for kind, names in _OPERATORS.items() for name in names.split()}
)
"""Kind by operator; all others are ``other``."""
