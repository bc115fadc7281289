"""The inbox: questions to the owner as documents of the home, and answers to them, signed, from any program."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .asked_question import LEAST_HASH, AskedQuestion, SignedAnswer
    from .grant_box import GrantBox, grant_of
    from .inbox_owner import InboxOwner, with_inbox
    from .question_box import INBOX_KEY, InboxError, KeptQuestion, QuestionBox, RecordDecision, only_one
    from .standing_grant import ANY, KeptGrant, Scope, StandingGrant
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "asked_question": "AskedQuestion LEAST_HASH SignedAnswer",
            "grant_box": "GrantBox grant_of",
            "inbox_owner": "InboxOwner with_inbox",
            "question_box": "INBOX_KEY InboxError KeptQuestion QuestionBox RecordDecision only_one",
            "standing_grant": "ANY KeptGrant Scope StandingGrant",
        },
    )
