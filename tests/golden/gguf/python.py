"""How python.gguf was made: every type of metadata, alignment 64, several formats.

python3 tests/golden/gguf/python.py OUT     # with gguf 0.19 and numpy
"""

import sys

import gguf
import numpy as np

w = gguf.GGUFWriter(sys.argv[1], "toy")
w.add_block_count(2)
w.add_uint8("every.u8", 200)
w.add_int8("every.i8", -100)
w.add_uint16("every.u16", 60000)
w.add_int16("every.i16", -30000)
w.add_uint32("every.u32", 4000000000)
w.add_int32("every.i32", -2000000000)
w.add_float32("every.f32", 0.1)
w.add_bool("every.bool", True)
w.add_string("every.string", "caf\u00e9")
w.add_uint64("every.u64", 2**64 - 1)
w.add_int64("every.i64", -(2**63))
w.add_float64("every.f64", 0.1)
w.add_array("every.ints", [1, -2, 3])
w.add_array("every.floats", [0.5, -1.5])
w.add_array("every.bools", [True, False, True])
w.add_token_list(["<pad>", "a", "\u2581b", ""])
w.add_token_scores([0.0, -1.0, -2.0, -3.0])
w.add_token_types([3, 1, 1, 1])
w.add_custom_alignment(64)
w.add_tensor("blk.0.attn_q.weight", np.arange(6 * 5, dtype=np.float32).reshape(6, 5) / 8)
w.add_tensor("blk.0.norm.weight", np.arange(7, dtype=np.float16))
x = np.linspace(-4, 4, 2 * 64, dtype=np.float32).reshape(2, 64)
for name, rows, kind in (
    ("blk.1.ffn_up.weight", x, gguf.GGMLQuantizationType.Q8_0),
    ("blk.1.ffn_down.weight", x[:1], gguf.GGMLQuantizationType.BF16),
):
    w.add_tensor(name, gguf.quants.quantize(rows, kind), raw_dtype=kind)
w.add_tensor("experts", np.arange(24, dtype=np.int32).reshape(2, 3, 4))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
