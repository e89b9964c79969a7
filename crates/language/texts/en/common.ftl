common-copied = Copied
common-copied-with-losses = Copied: { $losses }
common-copy = Copy
common-try-again = Try again
common-not-now = Not now
common-cancel = Cancel
common-accept = Accept
common-a-file-dialog-is = A file dialog is already open.
common-png-picture = PNG picture
common-size = Size
common-auto = auto
common-add = Add
common-close = Close
common-start-from-this-picture = Start from this picture
common-there-is-no-question = There is no question.
common-settings = Settings
common-search = Search
common-type-a-name-first = Type a name first.
common-name = Name
common-start-pictures = { $count ->
        [one] 1 start picture
       *[other] { $count } start pictures
    }
