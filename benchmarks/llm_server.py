"""A server of a language model under mixed load: every answer is that of its request alone.

scripts/python benchmarks/llm_server.py [--requests N] [--clients N] [--model NAME] [--engine cpu|rtl]

OpenAI's client sends requests of random lengths from several threads, half of them in pieces, some of which
the client ends early. Their texts are compared with those of the loop that has no server, each with a fresh
cache. Times are of this machine, whose engine simulates an accelerator: they say what the server adds.
"""

from __future__ import annotations

import queue
import sys
import threading
import time
from dataclasses import dataclass

import numpy as np
import openai

from allo.designs.llm.language.prose import load_prose, split_prose
from allo.designs.llm.language.sampling import Sampler
from allo.designs.llm.language.speech import speak
from allo.designs.llm.server.engine import Engine, Work
from allo.designs.llm.server.models import Prepared, prepare
from allo.designs.llm.server.protocol.serve import running
from allo.designs.llm.server.scheduler import Scheduler
from allo.designs.llm.server.text import GrowingText
from benchmarks.harness import Row, command_line, finish

CONTEXT = 128


@dataclass(slots=True)
class Load:
    """One request, and what came of it."""

    prompt: str
    count: int
    temperature: float
    seed: int
    stream: bool
    leaves_after: int | None
    text: str = ""
    first_s: float = 0.0
    whole_s: float = 0.0
    failed: str = ""


def loads(count: int, seed: int = 7) -> list[Load]:
    """Requests of random lengths; a fifth of those in pieces leave before the end."""
    rng = np.random.default_rng(seed)
    held = split_prose(load_prose())[1]
    found = []
    for n in range(count):
        place = int(rng.integers(len(held) - 400))
        prompt = held[place : place + int(rng.integers(4, 160))].strip() or "It"
        stream = bool(n % 2)
        leaves = int(rng.integers(1, 5)) if stream and rng.random() < 0.2 else None
        answer, heat = int(rng.integers(1, 48)), float(rng.choice([0.0, 0.8]))
        found.append(Load(prompt, answer, heat, n, stream, leaves))
    return found


def ask(client: openai.OpenAI, model: str, load: Load) -> None:
    """Send one request, and note its text and times."""
    began = time.perf_counter()
    asked = {"model": model, "prompt": load.prompt, "max_tokens": load.count, "seed": load.seed}
    try:
        said = client.completions.create(**asked, temperature=load.temperature, stream=load.stream)
        if not load.stream:
            load.text = said.choices[0].text
            load.first_s = time.perf_counter() - began
        else:
            for number, piece in enumerate(said):
                load.first_s = load.first_s or time.perf_counter() - began
                if load.leaves_after is not None and number == load.leaves_after:
                    said.close()
                    break
                load.text += piece.choices[0].text
    except openai.APIError as error:
        load.failed = str(error)
    load.whole_s = time.perf_counter() - began


def alone(prepared: Prepared, engine: Engine, load: Load) -> str:
    """The text of a request by the loop that has no server."""
    served, cache = prepared.served, engine.open()
    prompt = served.tokenizer.encode(load.prompt)
    sampler = Sampler(
        1 if load.temperature == 0 else len(served.tokenizer), load.temperature or 1.0, load.seed
    )
    steps = speak(
        lambda token, position: engine.step([Work(cache, token, position)])[0].logits,
        prompt, load.count, sampler, served.context,
    )  # fmt: skip
    text, growing = "", GrowingText(served.tokenizer, prompt, ())
    for step in steps:
        if step.chosen in served.ends:
            break
        if step.chosen is not None:
            text += growing.add(step.chosen)
    return text + growing.finish()


def main() -> int:
    parser = command_line(__doc__)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--model", default="speaker")
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--batch", type=int, default=1)
    args = parser.parse_args()
    prepared = prepare(args.model, context=CONTEXT, batch=args.batch)
    engine, served = prepared.engine(args.engine), prepared.served
    asked = loads(args.requests)
    waiting: queue.SimpleQueue[Load] = queue.SimpleQueue()
    for load in asked:
        waiting.put(load)
    scheduler = Scheduler(engine, served.tokenizer, served.ends, slots=args.slots)

    def client_thread(base: str) -> None:
        with openai.OpenAI(base_url=base, api_key="none", timeout=600, max_retries=0) as client:
            while True:
                try:
                    ask(client, served.name, waiting.get_nowait())
                except queue.Empty:
                    return

    began = time.perf_counter()
    with running(served, scheduler) as base:
        threads = [
            threading.Thread(target=client_thread, args=(base,)) for _ in range(args.clients)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spent = time.perf_counter() - began
    checking = time.perf_counter()
    expected = [alone(prepared, engine, load) for load in asked]
    one_by_one = time.perf_counter() - checking
    wrong = sum(
        text != load.text if load.leaves_after is None else not text.startswith(load.text)
        for text, load in zip(expected, asked, strict=True)
    )
    heard = [load for load in asked if load.leaves_after is None]
    lost = sum(bool(load.failed) for load in asked)
    left = len(asked) - len(heard)
    first = [load.first_s for load in heard if load.stream]
    rows = [
        Row("answers that are not those of the request alone", wrong, "", "limit", 0, True),
        Row("requests that were lost", lost, "", "limit", 0, True, f"of {len(asked)}, {left} left early"),
        Row("time of all", spent, "s", "one by one, without a server", one_by_one),
        Row("median time to the first piece", float(np.median(first)), "s", "worst", max(first)),
        Row("median time of an answer", float(np.median([x.whole_s for x in heard])), "s", "worst",
            max(x.whole_s for x in heard)),
    ]  # fmt: skip
    return finish("llm_server", "A server of a language model", rows, args.json)


if __name__ == "__main__":
    sys.exit(main())
