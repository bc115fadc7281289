"""The inbox: questions to the owner as documents of the home, and answers to them, signed, from any program."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .asked_question import LEAST_HASH, AskedQuestion, SignedAnswer
    from .inbox_owner import InboxOwner, with_inbox
    from .question_box import INBOX_KEY, InboxError, KeptQuestion, QuestionBox, RecordDecision, only_one
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "asked_question": "AskedQuestion LEAST_HASH SignedAnswer",
            "inbox_owner": "InboxOwner with_inbox",
            "question_box": "INBOX_KEY InboxError KeptQuestion QuestionBox RecordDecision only_one",
        },
    )
