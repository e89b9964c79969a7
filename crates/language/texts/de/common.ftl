common-copied = Kopiert
common-copied-with-losses = Kopiert: { $losses }
common-copy = Kopieren
common-try-again = Erneut versuchen
common-not-now = Nicht jetzt
common-cancel = Abbrechen
common-accept = Annehmen
common-a-file-dialog-is = Ein Dateidialog ist schon geöffnet.
common-png-picture = PNG-Bild
common-size = Größe
common-auto = auto
common-add = Hinzufügen
common-close = Schließen
common-start-from-this-picture = Von diesem Bild ausgehen
common-there-is-no-question = Es gibt keine Frage.
common-settings = Einstellungen
common-search = Suchen
common-type-a-name-first = Zuerst einen Namen eingeben.
common-name = Name
common-start-pictures = { $count ->
        [one] 1 Startbild
       *[other] { $count } Startbilder
    }
