"""The cost of calls, by the list of `genai_prices`, which comes with the extra `prices`."""

from __future__ import annotations

from toolplan.providers._base import Usage
from toolplan.providers._specs import ADDRESSES, Spec

try:
    import genai_prices
except ModuleNotFoundError:
    genai_prices = None


def cost_usd(spec: Spec, model: str, usage: Usage) -> float | None:
    """Return the cost of a call in US dollars; None where it is not known.

    `model` is the name that the endpoint gave; the one that was asked for is the next to try.
    """
    if genai_prices is None or ADDRESSES.get(spec.provider) != spec.url:
        return None  # the same name at another address is another model
    if not (usage.input_tokens or usage.output_tokens):
        return None  # the endpoint did not count
    tokens = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cached_tokens,
        output_tokens=usage.output_tokens,
    )
    for name in filter(None, (model, spec.model)):
        try:
            price = genai_prices.calc_price(tokens, name, provider_id=spec.provider)
        except (LookupError, ValueError):
            continue
        return float(price.total_price)
    return None


def try_prices() -> str:
    """Compute the cost of a call; describe the list of prices.

    Raises:
        LookupError: the list has no price of a model that is sold.
    """
    usage = Usage(input_tokens=1_000, output_tokens=1_000)
    spec = Spec("openai:gpt-4o", "openai", "openai", ADDRESSES["openai"], "gpt-4o", True)
    if cost_usd(spec, spec.model, usage) is None:
        raise LookupError("there is no price of gpt-4o")
    return "a call was priced"
