# %% [markdown]
# # 8 · A transformer
#
# The last tutorial builds a whole accelerator: a small language model that writes text, in hardware. It is
# in `allo.designs.llm` and uses nothing but what the other tutorials have shown: a dataflow region
# (4), integers of 8 bits (6), and a schedule for each loop (1, 2).
#
# ## The model
#
# The model is a decoder as in GPT: embedding, then layers of attention and a feed-forward network, then
# a score for each possible next character. The weights come with Allo. They were trained on simple stories
# and then quantised to 8 bits.

# %%
import numpy as np

from allo.designs.llm.build import Design, memories_and_session, schedule
from allo.designs.llm.check import check_accumulators
from allo.designs.llm.checkpoints.integer_model import QuantizedGPT
from allo.designs.llm.cycles import predict_step
from allo.designs.llm.network.corpus import decode, encode
from allo.designs.llm.network.train import DATA
from allo.designs.llm.network.weights import load_weights

weights = load_weights(DATA / "char_gpt_w8a8.npz")
config = weights.config
print(config)
print(sum(array.nbytes for array in weights.arrays.values()), "bytes of weights and factors")

# %% [markdown]
# `QuantizedGPT` is the same arithmetic in NumPy. It is what the hardware has to reproduce bit by bit.

# %%
PROMPT = encode("one day anna went to the")
COUNT = 12
reference = QuantizedGPT(weights).generate(PROMPT, COUNT)
print(decode(PROMPT) + "|" + decode(reference))

# %% [markdown]
# ## The accelerator
#
# The region has five processes. `loader` streams the weights from memory. `linear` is a row of
# multipliers that computes all matrix products. `rescale` turns its sums into 8 bits. `embedding`
# sends the rows of the characters. `vector` does everything else: norms, attention, the feed-forward
# network's curve, and the addition of each layer's input. `Design` holds the parameters that a designer
# chooses.

# %%
design = Design(lanes=8, block=8)
s = schedule(config, design)
print(design)
print("processes:", ", ".join(sorted(s.func_instances)))

# %% [markdown]
# ## First on the CPU
#
# The simulator runs the five processes and their FIFOs on the CPU. `Session` is the host's side: it fills
# the memories, hands in the prompt in blocks, and then one character after the other.

# %%
simulator = s.build(target="simulator")
_, session = memories_and_session(weights, design, simulator)
said = [step.token for step in session.generate(PROMPT, COUNT)]
assert np.array_equal(said, reference)
print("the simulator says:", decode(np.array(said)))

# %% [markdown]
# ## Then as hardware
#
# The same schedule builds SystemVerilog, here simulated in process. With `observe=True` the design also
# writes out every sum it computes, so that not only the chosen characters are compared but every 32-bit
# accumulator before them.

# %%
design = Design(lanes=8, block=8, observe=True)
hardware = schedule(config, design).build(target="verilog", simulator="jit")
_, session = memories_and_session(weights, design, hardware)
text, compared = list(PROMPT), 0
for step in session.generate(PROMPT, COUNT):
    check = check_accumulators(session, weights, np.array(text))
    assert check.differing == ()
    compared += check.compared
    text.append(step.token)
assert np.array_equal(text[len(PROMPT) :], reference)
print("the hardware says: ", decode(np.array(text[len(PROMPT) :])))
print(compared, "accumulators compared, all equal")

# %% [markdown]
# ## How fast, and why
#
# Each step of the session knows its cycles. `predict_step` computes them from the compiler's report alone:
# from the initiation interval and the depth of each loop.

# %%
print("position  characters  cycles  predicted  multipliers busy")
for step in session.steps[:2] + session.steps[-2:]:
    forecast = predict_step(hardware.report, config, design, step.count, step.start)
    busy = forecast.linear_cycles / step.cycles
    print(f"{step.start:8} {step.count:11} {step.cycles:7} {forecast.cycles:10} {busy:17.0%}")
    assert abs(forecast.cycles / step.cycles - 1) < 0.05

# %% [markdown]
# More multipliers make a step shorter, as long as the memory delivers the weights in time. The number of
# lanes is one parameter of the design, so a sweep is a loop.

# %%
cycles = {}
for lanes in (4, 8):
    choice = Design(lanes=lanes, block=1)
    module = schedule(config, choice).build(target="verilog", simulator="jit")
    _, session = memories_and_session(weights, choice, module)
    session.position = 8
    session.feed(np.zeros(1, np.int32))
    cycles[lanes] = module.cycles
    print(f"{lanes} multipliers: {module.cycles} cycles a character")
assert cycles[4] > 1.6 * cycles[8]

# %% [markdown]
# ## Where to go from here
#
# * `scripts/demo llm_small` lets the model speak on three engines, Verilator among them.
# * [A transformer](../llm.md) describes the parts, and [The analytical model](../analytical_model.md) the
#   equations that predict larger ones.
# * The [gallery](../gallery/index.md) has small designs to start from.
