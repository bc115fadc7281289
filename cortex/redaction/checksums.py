"""Verifies check digits, which tell a card or account number (IBAN) from any other number. Pure."""

from __future__ import annotations

_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)

# First digits, from and to, and the lengths of each brand. Thirteen digits (old Visa) are left out: every bar code has
# that many. So are nineteen digits of Visa, which are not issued but are common as database keys.
_BRANDS: tuple[tuple[str, str, frozenset[int]], ...] = (
    ("4", "4", frozenset({16})),
    ("51", "55", frozenset({16})),
    ("2221", "2720", frozenset({16})),
    ("34", "34", frozenset({15})),
    ("37", "37", frozenset({15})),
    ("6011", "6011", frozenset({16, 19})),
    ("644", "659", frozenset({16, 19})),
    ("62", "62", frozenset({16, 17, 18, 19})),
    ("3528", "3589", frozenset({16})),
    ("300", "305", frozenset({14})),
    ("36", "36", frozenset({14})),
    ("38", "39", frozenset({14})),
    ("6304", "6304", frozenset({16, 18, 19})),
    ("6759", "6763", frozenset({16, 18, 19})),
    ("5018", "5038", frozenset({16, 18, 19})),
)

# Lengths from the registry of IBANs.
_REGISTRY = (
    "AD:24 AE:23 AL:28 AT:20 AZ:28 BA:20 BE:16 BG:22 BH:22 BI:27 BR:29 BY:28 CH:21 CR:22 CY:28 CZ:24 DE:22 "
    "DJ:27 DK:18 DO:28 EE:20 EG:29 ES:24 FI:18 FK:18 FO:18 FR:27 GB:22 GE:22 GI:23 GL:18 GR:27 GT:28 HR:21 "
    "HU:28 IE:22 IL:23 IQ:23 IS:26 IT:27 JO:30 KW:30 KZ:20 LB:28 LC:32 LI:21 LT:20 LU:20 LV:21 LY:25 MC:27 "
    "MD:24 ME:22 MK:19 MN:20 MR:27 MT:31 MU:30 NI:28 NL:18 NO:15 OM:23 PK:24 PL:28 PS:29 PT:25 QA:29 RO:24 "
    "RS:22 RU:33 SA:24 SC:31 SD:18 SE:24 SI:19 SK:24 SM:27 SO:23 ST:25 SV:28 TL:23 TN:24 TR:26 UA:29 VA:22 "
    "VG:24 XK:20 YE:30"
)
IBAN_LENGTHS = {code: int(length) for code, length in (entry.split(":") for entry in _REGISTRY.split())}


def is_luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        total += _DOUBLED[int(digit)] if place % 2 else int(digit)
    return total % 10 == 0


def is_card(digits: str) -> bool:
    """Whether the digits have a brand's prefix and length and a valid check digit, and are not all the same."""
    return is_card_beginning(digits, whole=True) and len(set(digits)) > 1 and is_luhn(digits)


def is_card_beginning(digits: str, *, whole: bool = False) -> bool:
    return any(
        first <= digits[: len(first)] <= last and (not whole or len(digits) in lengths)
        for first, last, lengths in _BRANDS
    )


def is_iban(account: str) -> bool:
    """Whether this is a valid IBAN. Give it without blanks and in capitals."""
    if IBAN_LENGTHS.get(account[:2]) != len(account):
        return False
    return int("".join(str(int(character, 36)) for character in account[4:] + account[:4])) % 97 == 1
