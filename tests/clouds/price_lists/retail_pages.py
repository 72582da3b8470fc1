"""Azure's retail prices in the form of its API: items of every kind, in pages that link to the next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from servers import Answer, ReceivedRequest


def item(name: str, usd: float, **other: Any) -> dict[str, Any]:
    return {
        "armSkuName": name, "productName": "Virtual Machines Dv5 Series", "skuName": name, "unitOfMeasure": "1 Hour",
        "retailPrice": usd, "currencyCode": "USD", "type": "Consumption", "isPrimaryMeterRegion": True, **other,
    }  # fmt: skip


ITEMS = [
    item("Standard_D4ds_v5", 0.25),
    item("Standard_D4ds_v5", 0.05, skuName="D4ds v5 Spot"),
    item("Standard_D4ds_v5", 0.06, skuName="D4ds v5 Low Priority"),
    item("Standard_D4ds_v5", 0.43, productName="Virtual Machines Ddsv5 Series Windows"),
    item("Standard_L8s_v3", 0.624),
    item("Standard_L8as_v4", 0.7),
    item("Standard_L8as_v4", 6000.0, unitOfMeasure="1 Year"),
    item("Standard_D8pds_v5", 0.36),
    item("Standard_D8pds_v5", 0.37),
    item("Standard_Gone", 1.0),
]


def retail(items: list[dict[str, Any]] | None = None, *, per_page: int = 3) -> Callable[[ReceivedRequest], Answer]:
    listed = ITEMS if items is None else items

    def answer(received: ReceivedRequest) -> Answer:
        at = int(received.query.get("$skip", 0))
        more = (
            f"http://{received.headers['Host']}/prices?$skip={at + per_page}" if at + per_page < len(listed) else None
        )
        return Answer({"BillingCurrency": "USD", "Items": listed[at : at + per_page], "NextPageLink": more})

    return answer
