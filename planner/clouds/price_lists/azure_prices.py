"""The Azure retail price list: public, in pages that name the next one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from planner.clouds.calls.http import get_json
from planner.clouds.calls.reading import pages
from planner.clouds.price_lists.access import Access
from planner.clouds.price_lists.reading import Watch
from planner.errors import BadInputError, IoFailureError

_URL: Final = "https://prices.azure.com/api/retail/prices"
_OTHER_PRODUCTS: Final = ("Windows", "Cloud Services", "CloudServices", "Dedicated Host")
_FIELDS: Final = {"armSkuName": str, "productName": str, "skuName": str, "unitOfMeasure": str, "retailPrice": float}


def retail_prices(region: str, *, access: Access, watch: Watch, left_out: Counter[str]) -> dict[tuple[str, str], float]:
    """Return USD per hour by (size, pricing); what is of another unit or has several prices is counted in `left_out`.

    Raises BadInputError for prices in another currency, IoFailureError for a page that is not as it should be.
    """
    start = access.prices_url or _URL
    what = f"Azure retail prices of {region}"
    chosen = f"serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and armRegionName eq '{region}'"
    first = f"{start}?{urlencode({'currencyCode': 'USD', '$filter': chosen})}"

    def fetch(url: str) -> tuple[list[Any], str]:
        page = get_json(url or first, what=what, policy=access.retry_policy)
        if not isinstance(page, dict) or not isinstance(page.get("Items"), list):
            raise IoFailureError(f"{what}: a page has no list of items; nothing was changed")
        return page["Items"], _same_host(page.get("NextPageLink") or "", start, what=what)

    amounts: dict[tuple[str, str], set[float]] = defaultdict(set)
    for page in pages(fetch, what=what):
        for item in page:
            _take(item, amounts, what=what, left_out=left_out)
        watch(f"prices of {region}", len(amounts))
    left_out["sizes with several prices"] += sum(len(prices) > 1 for prices in amounts.values())
    return {key: prices.pop() for key, prices in amounts.items() if len(prices) == 1}


def _take(item: Any, amounts: dict[tuple[str, str], set[float]], *, what: str, left_out: Counter[str]) -> None:
    _check(item, what=what)
    if any(word in item["productName"] for word in _OTHER_PRODUCTS) or "Low Priority" in item["skuName"]:
        return
    if not item["armSkuName"] or item.get("type", "Consumption") != "Consumption":
        return
    if item["unitOfMeasure"] != "1 Hour":
        left_out[f"prices per {item['unitOfMeasure']}"] += 1
    elif item["retailPrice"] > 0 and item.get("isPrimaryMeterRegion", True):
        amounts[item["armSkuName"], "spot" if item["skuName"].endswith("Spot") else "on-demand"].add(
            item["retailPrice"]
        )


def _check(item: Any, *, what: str) -> None:
    for name, expected in _FIELDS.items():
        value = item.get(name) if isinstance(item, Mapping) else None
        if not isinstance(value, int | float if expected is float else expected):
            raise IoFailureError(f"{what}: an item has no {name}: {str(item)[:200]}; nothing was changed")
    if item.get("currencyCode", "USD") != "USD":
        raise BadInputError(f"{what}: prices are in {item['currencyCode']}, and are not converted to USD")


def _same_host(link: str, start: str, *, what: str) -> str:
    """Return the link to the next page. Raises IoFailureError when it leads elsewhere."""
    if link and urlsplit(link).hostname != urlsplit(start).hostname:
        raise IoFailureError(f"{what}: the next page is said to be at {link[:100]}, another host; nothing was changed")
    return link
